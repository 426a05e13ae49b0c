/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator that gives LoadBalancer addresses out of pools: the pools in force (in_force.h),
 * who has what (plan/pools/assignment.h), and what has changed since it was asked last. agentd has
 * one for its folder of manifests (pools.allocate), agent-controller one for the cluster. What is
 * given is for them to write down; the allocator decides, and has neither clock nor files.
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
    bool all;                  /* everything is to be looked at */
    bool begun;                /* what statuses say has been read */
    bool tabled;               /* the table is that of the pools in force */
    uint64_t edits;            /* of pools that were taken over */
    struct sorted unowned;     /* struct ip: announced, and nobody knows whose they are */
};

struct pool_allocator_inputs {
    const struct store *store;
    const char *load_balancer_class;
    int64_t now_ms, rest_ms;
    bool keep_absent, keep_only; /* as these are in struct assignment_inputs */
};

void pool_allocator_init(struct pool_allocator *allocator);
void pool_allocator_done(struct pool_allocator *allocator);

/* An object changed. Lack of memory makes it everything. */
void pool_allocator_note(struct pool_allocator *allocator, const struct change *change);

/* Whether an update has anything to look at. */
bool pool_allocator_is_due(const struct pool_allocator *allocator);

/*
 * Gives addresses, over what was noted. Before the first one, what is known of earlier times may be
 * put into `assignments` and `pools`; what statuses say is read by the allocator. `each` as in
 * assignments_update(). Returns 0 or -ENOMEM: the next one is over everything.
 */
int pool_allocator_update(struct pool_allocator *allocator,
                          const struct pool_allocator_inputs *inputs, assigned_fn each,
                          void *context);

/* Rises whenever the allocator has something else to remember (state.h). */
static inline uint64_t pool_allocator_version(const struct pool_allocator *allocator)
{
    return allocator->assignments.version + allocator->edits;
}

/* The pool in force that has the key of an object, by two binary searches; NULL: there is none. */
const struct pool *pool_allocator_find(const struct pool_allocator *allocator,
                                       const struct object *object);

/* What is wrong with pools, and who lacks an address. */
void pool_allocator_faults(const struct pool_allocator *allocator, struct faults *faults);
