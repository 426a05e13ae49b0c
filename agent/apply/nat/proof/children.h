/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of an interface: macvlan and ipvlan devices, by which pods share a network card with
 * their node. Packets that the parent itself sends go out on the wire, and never to its children.
 */
#pragma once

#include <stdint.h>

enum nat_children { NAT_CHILDREN_NONE, NAT_CHILDREN_MACVLAN, NAT_CHILDREN_IPVLAN };

/*
 * Queries the kernel for children of an interface that may belong to pods, as far as visible from
 * this namespace (see children.c). A failed query counts as none.
 */
enum nat_children nat_children_of(uint32_t ifindex);
