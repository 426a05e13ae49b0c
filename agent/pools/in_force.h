/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pools that addresses are given out of: those of the store, but for edits that would take
 * Services their addresses. Such an edit is refused, and the pool stays as it was: first the
 * Services have to give the addresses up, or the edit has to leave them. Values, without kernel,
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

/* A pool as it was in force at some earlier time; taken over, even on failure. 0 or -ENOMEM. */
int pools_in_force_add(struct pools_in_force *pools, struct object *pool);

/* Of whom an allocator's inputs (allocator.h) speak: all borrowed. */
struct pool_holders {
    const struct store *store;
    const char *load_balancer_class;
    bool keep_absent; /* Services that are not in the store hold theirs */
    const struct assignments *assignments;
};

/*
 * Takes over what has changed in the store, edit by edit, as far as nobody loses an address by it.
 * Returns 1 if others are in force now, which are other objects; 0; or -ENOMEM: then nothing has
 * changed.
 */
int pools_in_force_update(struct pools_in_force *pools, const struct pool_holders *holders);

/* The pool in force with the key of an object, or NULL. Borrowed until others are in force. */
const struct object *pools_in_force_find(const struct pools_in_force *pools,
                                         const struct object *object);

/* The edit of a pool that is refused, or NULL. */
const struct refused_edit *pools_in_force_refused(const struct pools_in_force *pools,
                                                  const struct object *pool);

/* A fault for each refused edit: whose addresses they are. */
void pools_in_force_faults(const struct pools_in_force *pools, struct faults *faults);
