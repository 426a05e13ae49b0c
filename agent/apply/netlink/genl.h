/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generic netlink: families that have a name, and a number as long as their module is loaded. The
 * socket comes from nl_open_in(netns, NETLINK_GENERIC, ...); groups are for nl_open_listener().
 */
#pragma once

#include <stdint.h>

#include "apply/netlink/nl.h"

struct genl_family {
    uint16_t id;      /* the message type */
    uint32_t version; /* of the kernel's implementation */
};

/*
 * Finds a family by its name; the kernel may load a module for it. Returns 0, -ENOENT if there is
 * none, -EPROTO if the reply does not describe it, or -errno.
 */
int genl_find(struct nl_socket *socket, const char *name, struct genl_family *ret_family);

/* Finds a multicast group of a family, both by name. Returns the same as genl_find(). */
int genl_group(struct nl_socket *socket, const char *family, const char *name, uint32_t *ret_group);

/* Begins a request with a command of the family. Attributes follow. */
void genl_begin(struct nl_request *request, const struct genl_family *family, uint8_t command,
                uint16_t flags);
