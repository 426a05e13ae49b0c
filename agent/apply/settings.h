/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings below /proc/sys/net, of this network namespace, which the agent reads and never writes.
 */
#pragma once

#include <stdbool.h>

#include <libmnl/libmnl.h>

#include "apply/mirror/kernel.h"

/*
 * The name of an interface's setting: "net.ipv4.conf.eth0.forwarding". As sysctl(8) takes it, a dot
 * in the interface's name is a slash. The caller frees it; NULL: no memory.
 */
char *setting_key(const char *family, const char *interface, const char *name);

/* The number that a setting has. Returns 0, -ENOENT where there is none of this name, or -errno. */
int setting_read(const char *key, long *ret_value);

/* Notes the interface of an RTM_NEWNETCONF in the events. Returns 0 or -ENOMEM. */
int settings_hear(struct kernel_events *events, const struct nlmsghdr *message);
