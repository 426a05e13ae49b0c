/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other nodes that may have an address of a segment: an immutable list, shared by all claims
 * with the same nodes. So for n nodes and m addresses the memory depends on the kinds of claims,
 * not on n times m.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/vec.h"

/* An eligible node; `since_ms`: since when, without interruption; 0: since before it was known. */
struct placement_node {
    char *name;
    int64_t since_ms;
    bool lacks; /* a port of the addresses has endpoints only on other nodes */
};

struct contenders {
    unsigned owners;
    VEC(struct placement_node) nodes; /* by name */
};

/* An empty list with one reference; NULL: no memory. */
struct contenders *contenders_new(void);
/* Adds a reference; returns the list. */
struct contenders *contenders_share(struct contenders *list);
/* Drops a reference, and frees the list with the last one. NULL: does nothing. */
void contenders_drop(struct contenders *list);
DEFINE_CLEANUP(struct contenders *, contenders_drop);

/* While the list is built: names may be added in any order, then contenders_sort(). Copies the
 * name. Returns 0 or -ENOMEM. */
int contenders_add(struct contenders *list, const char *name, int64_t since_ms);
void contenders_sort(struct contenders *list);

/* Marks that the last added node lacks a port. */
void contenders_lacks(struct contenders *list);

/* NULL: not in the list. */
const struct placement_node *contenders_find(const struct contenders *list, const char *name);

/*
 * Whether both have the same nodes with the same `lacks`, whatever their times; whether the times
 * are equal too.
 */
bool contenders_same_nodes(const struct contenders *a, const struct contenders *b);
bool contenders_equal(const struct contenders *a, const struct contenders *b);

/* The intersection of both, shared where it equals one of them. Returns 0 or -ENOMEM. */
int contenders_both(struct contenders *a, struct contenders *b, struct contenders **ret_list);
