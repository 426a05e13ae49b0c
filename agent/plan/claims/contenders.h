/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other nodes that may have an address of a segment: a list that never changes once it is made,
 * and that all claims with the same nodes share. So a cluster of n nodes and m addresses has as
 * many names as there are kinds of claims, not n times m.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/vec.h"

/* A node that may; `since_ms`: since when, without a break; 0: for as long as is known. */
struct placement_node {
    char *name;
    int64_t since_ms;
    bool lacks; /* a port of the addresses has its endpoints on other nodes alone */
};

struct contenders {
    unsigned owners;
    VEC(struct placement_node) nodes; /* by name */
};

/* An empty list of one owner; NULL: no memory. */
struct contenders *contenders_new(void);
/* One more owner; returns the list. */
struct contenders *contenders_share(struct contenders *list);
/* One less, and with the last the list goes. NULL: nothing. */
void contenders_drop(struct contenders *list);
DEFINE_CLEANUP(struct contenders *, contenders_drop);

/* While it is made: names may come in any order, then contenders_sort(). Copies the name. Returns 0
 * or -ENOMEM. */
int contenders_add(struct contenders *list, const char *name, int64_t since_ms);
void contenders_sort(struct contenders *list);

/* The node that was added last lacks a port. */
void contenders_lacks(struct contenders *list);

/* NULL: it is not in it. */
const struct placement_node *contenders_find(const struct contenders *list, const char *name);

/* Whether both name the same nodes, which lack the same, whichever times they have; whether the
 * times are equal too. */
bool contenders_same_nodes(const struct contenders *a, const struct contenders *b);
bool contenders_equal(const struct contenders *a, const struct contenders *b);

/* Those of both, shared where one is the answer. Returns 0 or -ENOMEM. */
int contenders_both(struct contenders *a, struct contenders *b, struct contenders **ret_list);
