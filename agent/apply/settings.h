/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings below /proc/sys/net, of this network namespace. The agent reads them and never writes
 * them.
 */
#pragma once

#include <stdbool.h>

#include <libmnl/libmnl.h>

#include "apply/mirror/kernel.h"

/*
 * The name of an interface's setting: "net.ipv4.conf.eth0.forwarding". As in sysctl(8), a dot in
 * the interface's name is written as a slash. The caller frees it; NULL: no memory.
 */
char *setting_key(const char *family, const char *interface, const char *name);

/* Reads a numeric setting. Returns 0, -ENOENT if it does not exist, or -errno. */
int setting_read(const char *key, long *ret_value);

/* Records the interface of an RTM_NEWNETCONF in the events. Returns 0 or -ENOMEM. */
int settings_hear(struct kernel_events *events, const struct nlmsghdr *message);
