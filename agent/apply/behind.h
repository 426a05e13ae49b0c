/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses are behind an interface of the node: those of a veth's other end, in the network
 * namespace of a pod.
 */
#pragma once

#include "apply/netlink/address.h"

enum {
    BEHIND_MAX = 256
}; /* addresses of one interface: a pod may make itself as many as it likes */

/*
 * Reads them; none of what is no veth, or whose other end is in this namespace. The caller ends the
 * list by vec_done(). Returns 0; -ENODEV if it is gone, -EAGAIN if its other end moved meanwhile,
 * -E2BIG if there are more, -EACCES where the kernel does not let, or -errno.
 */
int behind_read(struct nl_socket *socket, uint32_t ifindex, nl_address_list *ret_addresses);
