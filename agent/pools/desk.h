/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The desk that gives LoadBalancer addresses out of pools: the pools in force (in_force.h), who has
 * what (plan/pools/assignment.h), and what has changed since it was asked last. agentd has one for
 * its folder of manifests (pools.allocate), agent-controller one for the cluster. What is given is
 * for them to write down; the desk decides, and has neither clock nor files.
 */
#pragma once

#include "base/fault.h"
#include "plan/pools/assignment.h"
#include "pools/in_force.h"
#include "store/store.h"

struct own_key {
    char *namespace, *name;
};

struct pool_desk {
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

struct pool_desk_inputs {
    const struct store *store;
    const char *load_balancer_class;
    int64_t now_ms, rest_ms;
    bool keep_absent, keep_only; /* as these are in struct assignment_inputs */
};

void pool_desk_init(struct pool_desk *desk);
void pool_desk_done(struct pool_desk *desk);

/* An object changed. Lack of memory makes it everything. */
void pool_desk_note(struct pool_desk *desk, const struct change *change);

/* Whether an update has anything to look at. */
bool pool_desk_is_due(const struct pool_desk *desk);

/*
 * Gives addresses, over what was noted. Before the first one, what is known of earlier times may be
 * put into `assignments` and `pools`; what statuses say is read by the desk. `each` as in
 * assignments_update(). Returns 0 or -ENOMEM: the next one is over everything.
 */
int pool_desk_update(struct pool_desk *desk, const struct pool_desk_inputs *inputs,
                     assigned_fn each, void *context);

/* Rises whenever the desk has something else to remember (state.h). */
static inline uint64_t pool_desk_version(const struct pool_desk *desk)
{
    return desk->assignments.version + desk->edits;
}

/* The pool in force that has the key of an object, by two binary searches; NULL: there is none. */
const struct pool *pool_desk_find(const struct pool_desk *desk, const struct object *object);

/* What is wrong with pools, and who lacks an address. */
void pool_desk_faults(const struct pool_desk *desk, struct faults *faults);
