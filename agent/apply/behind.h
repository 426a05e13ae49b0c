/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses behind an interface of the node: those of a veth's other end, in the network
 * namespace of a pod.
 */
#pragma once

#include "apply/netlink/address.h"

enum {
    BEHIND_MAX = 256
}; /* addresses of one interface: a pod may configure any number of addresses */

/*
 * Reads the addresses. The list is empty if the interface is no veth, or if its other end is in
 * this namespace. The caller frees the list by vec_done(). Returns 0; -ENODEV if the interface is
 * gone, -EAGAIN if its other end was moved meanwhile, -E2BIG if there are more addresses, -EACCES
 * where the kernel denies access, or -errno.
 */
int behind_read(struct nl_socket *socket, uint32_t ifindex, nl_address_list *ret_addresses);
