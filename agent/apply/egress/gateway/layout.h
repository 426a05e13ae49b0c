/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a gateway's source ports are laid out: which addresses packets may get, at which place each
 * stands, and which ports a block has. A block's number says its address and its ports only
 * together with this; so whoever tells of a block has to use the layout under which it was given.
 * Internal to apply/egress/.
 */
#pragma once

#include "base/net/ip.h"
#include "bpf/egress_abi.h"

struct egress_layout {
    uint16_t first_port, block_size;
    uint32_t address_blocks;                  /* of each address; 0: nothing was laid out yet */
    uint32_t used[2];                         /* places, IPv4 and IPv6; 0: no address to be had */
    struct ip sources[2][EGRESS_SOURCES_MAX]; /* by place; IP_NONE: free */
};

/* As the program has it. */
struct egress_layout egress_layout_of(const struct egress_control *control);

/*
 * Makes the addresses of one family (0: IPv4, 1: IPv6) those of `wanted`, which ends at the first
 * IP_NONE. Each keeps the place that it has. With none at all the places stay as they are, and are
 * not used: mostly a default route is gone for a moment.
 */
void egress_layout_place(struct egress_layout *layout, int family,
                         const struct ip wanted[static EGRESS_SOURCES_MAX]);

/* How many blocks there are in all. */
uint32_t egress_layout_blocks(const struct egress_layout *layout);
/* The place of a source address, or -1. */
int egress_layout_find(const struct egress_layout *layout, const struct ip *address);
/* The address of a block that a client of the family (0, 1) has; IP_NONE: none. */
struct ip egress_layout_address(const struct egress_layout *layout, int family, uint32_t number);

/* Whether a block has other ports, or for this family another address, than it had in `before`. */
bool egress_layout_differs(const struct egress_layout *layout, const struct egress_layout *before,
                           int family, uint32_t number);
