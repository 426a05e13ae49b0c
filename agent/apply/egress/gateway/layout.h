/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a gateway's source ports: the source addresses, the place of each address, and the
 * ports of a block. A block's number determines its address and ports only together with a layout;
 * so a block is always reported by the layout under which it was allocated. Internal to
 * apply/egress/.
 */
#pragma once

#include "base/net/ip.h"
#include "bpf/egress_abi.h"

struct egress_layout {
    uint16_t first_port, block_size;
    uint32_t address_blocks;                  /* of each address; 0: no layout yet */
    uint32_t used[2];                         /* places, IPv4 and IPv6; 0: no address available */
    struct ip sources[2][EGRESS_SOURCES_MAX]; /* by place; IP_NONE: free */
};

/* The layout that the program uses. */
struct egress_layout egress_layout_of(const struct egress_control *control);

/*
 * Makes the addresses of one family (0: IPv4, 1: IPv6) those of `wanted`, which ends at the first
 * IP_NONE. Each address keeps its place. If `wanted` is empty, the places are kept and not used:
 * usually a default route is missing for a moment.
 */
void egress_layout_place(struct egress_layout *layout, int family,
                         const struct ip wanted[static EGRESS_SOURCES_MAX]);

/* Returns the total number of blocks. */
uint32_t egress_layout_blocks(const struct egress_layout *layout);
/* Returns the place of a source address, or -1. */
int egress_layout_find(const struct egress_layout *layout, const struct ip *address);
/* Returns the address of a block that a client of the family (0, 1) has; IP_NONE: none. */
struct ip egress_layout_address(const struct egress_layout *layout, int family, uint32_t number);

/* Whether a block has other ports than in `before`, or another address of this family. */
bool egress_layout_differs(const struct egress_layout *layout, const struct egress_layout *before,
                           int family, uint32_t number);
