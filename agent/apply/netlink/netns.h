/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces by the numbers that one of them has for the others. */
#pragma once

#include <stdint.h>

#include "apply/netlink/nl.h"

/*
 * The number that the socket's namespace has for the one that the descriptor stands for; -1: it has
 * none, so that no link of it has an end there that was ever shown. Returns 0, -EBADF or -EINVAL if
 * the descriptor is none of a network namespace, or -errno.
 */
int nl_netns_number(struct nl_socket *socket, int netns, int32_t *ret_number);
