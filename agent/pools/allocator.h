/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator of LoadBalancer addresses from pools: the pools in force (in_force.h), the
 * assignments (plan/pools/assignment.h), and what has changed since the last update. agentd has one
 * for its folder of manifests (pools.allocate), agent-controller one for the cluster. The caller
 * stores the assignments; the allocator decides, and uses neither clock nor files.
 */
#pragma once

#include "base/fault.h"
#include "plan/pools/assignment.h"
#include "pools/in_force.h"
#include "store/store.h"

struct own_key {
    char *namespace, *name;
};

struct pool_allocator {
    struct assignments assignments;
    struct pools_in_force pools;
    struct pool_table table;   /* of the pools in force */
    struct faults overlaps;    /* between them */
    VEC(struct own_key) dirty; /* Services that changed */
    bool due;                  /* something changed that may free an address */
    bool all;                  /* everything is to be decided again */
    bool begun;                /* the addresses in statuses have been read */
    bool tabled;               /* the table is that of the pools in force */
    uint64_t edits;            /* number of accepted edits of pools */
    struct sorted unowned;     /* struct ip: announced, and their owner is unknown */
};

struct pool_allocator_inputs {
    const struct store *store;
    const char *load_balancer_class;
    int64_t now_ms, rest_ms;
    bool keep_absent, keep_only; /* as in struct assignment_inputs */
};

void pool_allocator_init(struct pool_allocator *allocator);
void pool_allocator_done(struct pool_allocator *allocator);

/* An object changed. Without memory everything counts as changed. */
void pool_allocator_note(struct pool_allocator *allocator, const struct change *change);

/* Whether an update has anything to do. */
bool pool_allocator_is_due(const struct pool_allocator *allocator);

/*
 * Allocates addresses to what has changed. Before the first update, the caller may fill
 * `assignments` and `pools` from a record; the allocator reads the addresses in statuses. `each` as
 * in assignments_update(). Returns 0 or -ENOMEM: the next one is over everything.
 */
int pool_allocator_update(struct pool_allocator *allocator,
                          const struct pool_allocator_inputs *inputs, assigned_fn each,
                          void *context);

/* Increases whenever the state to be stored (state.h) has changed. */
static inline uint64_t pool_allocator_version(const struct pool_allocator *allocator)
{
    return allocator->assignments.version + allocator->edits;
}

/* The pool in force with the key of an object, by two binary searches; NULL: there is none. */
const struct pool *pool_allocator_find(const struct pool_allocator *allocator,
                                       const struct object *object);

/* Adds problems of pools, and Services that lack an address. */
void pool_allocator_faults(const struct pool_allocator *allocator, struct faults *faults);
