/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has which blocks of a gateway's source ports. The program gives them out; here they are told
 * of, each in a line of the journal when it is given and when it is taken back, and freed. This is
 * what answers whose packets came from a port at some time. Internal to apply/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway_inside.h"
#include "base/vec.h"
#include "status/egress_status.h"

/* Address and ports of a block of a client of the family (0: IPv4, 1: IPv6), and when its word says
 * that it was taken. */
struct egress_block egress_block_of(const struct egress_gate *gate, int family, uint32_t number,
                                    uint64_t word);

typedef VEC(struct installed_client) installed_client_list; /* sorted by id */

int egress_client_id_cmp(const void *a, const void *b);

/* Takes back one block; false: nobody knows yet whose it is. */
bool egress_block_take_back(struct egress_gate *gate, uint32_t number);

/* Takes back all blocks of these clients. */
void egress_blocks_free(struct egress_gate *gate, const installed_client_list *gone);
