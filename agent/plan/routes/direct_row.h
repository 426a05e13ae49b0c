/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct routes (routes.direct): blocks of nodes on a common network with this node are routed to
 * the address of their Node, without a router in between. One row for each family of each block of
 * another node, routed or not. Pure.
 */
#pragma once

#include "base/sorted.h"
#include "base/vec.h"
#include "model/address_block.h"
#include "plan/facts.h"
#include "store/store.h"

enum direct_reason {
    DIRECT_ROUTED,
    DIRECT_NO_NODE,    /* there is no Node of the name */
    DIRECT_NO_ADDRESS, /* the Node has no InternalIP of the family */
    DIRECT_ELSEWHERE,  /* that is on no network of this node: routers lead to it */
    DIRECT_AROUND,     /* the block contains that address, or one of this node: never routed */
    DIRECT_REASONS,
};

struct direct_row {
    struct prefix prefix;
    char block[254], node[254];
    struct ip via;    /* the Node's address; IP_NONE: none */
    uint32_t ifindex; /* by which it is on-link; 0: not routed */
    uint8_t reason;   /* enum direct_reason */
};

typedef VEC(struct direct_row) direct_row_list;

int direct_row_cmp(const void *a, const void *b); /* prefix, then block */
bool direct_row_equal(const struct direct_row *a, const struct direct_row *b); /* in all */

/* A stable word ("routed", "elsewhere"), and a sentence. */
const char *direct_reason_name(enum direct_reason reason);
const char *direct_reason_text(enum direct_reason reason);

/*
 * All rows, from nothing; none while routes.direct is off or this node's links are unknown. Returns
 * 0 or -ENOMEM.
 */
int plan_direct(const struct node_facts *facts, struct sorted *ret_rows);

/*
 * One row from nothing: that of `key`'s prefix and block. False: another node has no such block.
 */
bool plan_direct_row(const struct node_facts *facts, const struct direct_row *key,
                     struct direct_row *ret_row);

/*
 * A number that changes when an interface goes up or down or its addresses change, so that direct
 * routes may change. A pod's veth that is added or deleted does not change it.
 */
uint64_t direct_networks(const struct node_facts *facts);

/*
 * The rows that a change of an object can alter, by prefix and block: the block's own, and, where a
 * Node's addresses changed, those of its blocks among the planned `rows`. Appends them; duplicates
 * possible. Returns 0 or -ENOMEM.
 */
int plan_affected_direct(const struct node_facts *facts, const struct sorted *rows,
                         const struct change *change, direct_row_list *touched);
