/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pools from which addresses are allocated: those of the store, except for edits that would
 * take addresses from Services. Such an edit is refused, and the pool stays as it was: first the
 * Services have to release the addresses, or the edit has to keep them. Values, without kernel,
 * clock or files; used by allocator.h, which owns them.
 */
#pragma once

#include "base/fault.h"
#include "plan/pools/assignment.h"
#include "store/store.h"

/* An edit that is not in force. */
struct refused_edit {
    char *namespace, *name; /* of the pool */
    bool removal;
    uint32_t losers; /* Services that would lose an address */
    char *who;       /* the first of them: "shop/web, shop/api and 5 more" */
};

typedef VEC(struct object *) own_object_list;
typedef VEC(struct refused_edit) refused_edit_list;

struct pools_in_force {
    own_object_list objects; /* copies, in order of key */
    refused_edit_list refused;
};

void pools_in_force_done(struct pools_in_force *pools);

/* Adds a pool that was in force earlier; takes ownership, even on failure. 0 or -ENOMEM. */
int pools_in_force_add(struct pools_in_force *pools, struct object *pool);

/* The Services of an allocator's inputs (allocator.h): all borrowed. */
struct pool_holders {
    const struct store *store;
    const char *load_balancer_class;
    bool keep_absent; /* Services that are not in the store keep their addresses */
    const struct assignments *assignments;
};

/*
 * Accepts changes of the store, edit by edit, unless a Service would lose an address. Returns 1 if
 * other objects are in force now; 0; or -ENOMEM: then nothing has changed.
 */
int pools_in_force_update(struct pools_in_force *pools, const struct pool_holders *holders);

/*
 * The pool in force with the key of an object, or NULL. Borrowed until the pools in force change.
 */
const struct object *pools_in_force_find(const struct pools_in_force *pools,
                                         const struct object *object);

/* The edit of a pool that is refused, or NULL. */
const struct refused_edit *pools_in_force_refused(const struct pools_in_force *pools,
                                                  const struct object *pool);

/* A fault for each refused edit, with the Services that hold the addresses. */
void pools_in_force_faults(const struct pools_in_force *pools, struct faults *faults);
