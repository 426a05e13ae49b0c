/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct routes (routes.direct): blocks of other nodes that are on a network of this node's are
 * routed to the address of their Node, without a router between. One row for each family of each
 * block of another node, routed or not. Pure.
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
    DIRECT_ELSEWHERE,  /* that is on no network of this node's: others route to it */
    DIRECT_AROUND,     /* the block has it inside, or an address of this node's: never routed */
    DIRECT_REASONS,
};

struct direct_row {
    struct prefix prefix;
    char block[254], node[254];
    struct ip via;    /* the Node's address; IP_NONE: none */
    uint32_t ifindex; /* of the network that it is on; 0: not routed */
    uint8_t reason;   /* enum direct_reason */
};

typedef VEC(struct direct_row) direct_row_list;

int direct_row_cmp(const void *a, const void *b); /* prefix, then block */
bool direct_row_equal(const struct direct_row *a, const struct direct_row *b); /* in all */

/* A word for programs ("routed", "elsewhere"), and a sentence. */
const char *direct_reason_name(enum direct_reason reason);
const char *direct_reason_text(enum direct_reason reason);

/*
 * All rows, from nothing; none while routes.direct is off or this node's links are not known.
 * Returns 0 or -ENOMEM.
 */
int plan_direct(const struct node_facts *facts, struct sorted *ret_rows);

/*
 * One row from nothing: that of `key`'s prefix and block. False: there is none, since there is no
 * such block of another node.
 */
bool plan_direct_row(const struct node_facts *facts, const struct direct_row *key,
                     struct direct_row *ret_row);

/*
 * A number that is another one when interfaces went up or down, or were given addresses, by which
 * direct routes may be others. The end of a pod that came or went is none of these.
 */
uint64_t direct_networks(const struct node_facts *facts);

/*
 * The rows that a change of an object can alter, told by prefix and block: a block's own, and of a
 * Node whose addresses changed those of its blocks, among the `rows` that were planned. Appends
 * them; duplicates possible. Returns 0 or -ENOMEM.
 */
int plan_affected_direct(const struct node_facts *facts, const struct sorted *rows,
                         const struct change *change, direct_row_list *touched);
