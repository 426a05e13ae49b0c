/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of an interface: macvlan and ipvlan devices, by which pods share a network card with
 * their node. What the parent itself sends goes out on the wire, and never to its own children.
 */
#pragma once

#include <stdint.h>

enum nat_children { NAT_CHILDREN_NONE, NAT_CHILDREN_MACVLAN, NAT_CHILDREN_IPVLAN };

/*
 * Asks the kernel for children of an interface that may be pods', as far as can be seen from here
 * (children.c says how far). What can't be asked counts as none.
 */
enum nat_children nat_children_of(uint32_t ifindex);
