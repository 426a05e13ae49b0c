/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces, by the numbers (nsid) that one namespace has for the others. */
#pragma once

#include <stdint.h>

#include "apply/netlink/nl.h"

/*
 * Returns the number that the socket's namespace has for that of the descriptor; -1: it has none,
 * so no link of the socket's namespace was ever seen with a peer there. Returns 0, -EBADF or
 * -EINVAL if the descriptor is no network namespace, or -errno.
 */
int nl_netns_number(struct nl_socket *socket, int netns, int32_t *ret_number);
