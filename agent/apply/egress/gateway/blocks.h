/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owners of a gateway's blocks of source ports. The program allocates the blocks; this file
 * logs each allocation and each release, and frees the blocks. The log answers which client used a
 * port at some time. Internal to apply/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway_inside.h"
#include "base/vec.h"
#include "status/egress_status.h"

/* Address and ports of a block of a client of the family (0: IPv4, 1: IPv6), and the time of
 * allocation according to the block's word. */
struct egress_block egress_block_of(const struct egress_gate *gate, int family, uint32_t number,
                                    uint64_t word);

typedef VEC(struct installed_client) installed_client_list; /* sorted by id */

int egress_client_id_cmp(const void *a, const void *b);

/* Releases one block; false: its owner is not known yet. */
bool egress_block_take_back(struct egress_gate *gate, uint32_t number);

/* Releases all blocks of these clients. */
void egress_blocks_free(struct egress_gate *gate, const installed_client_list *gone);
