// SPDX-License-Identifier: Apache-2.0
/*
 * Deleted objects that still exist; see held.h. Called by the controller's jobs of blocks and of
 * egress. The job of addresses reports Services, since it has their addresses.
 *
 * No block of a deleted pool is allocated, so that a node that requests one waits; and the pool
 * exists until the last pod with an address of it is gone, which may be never.
 */
#include "plan/conflicts/held.h"

#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "faults/deletions.h"
#include "model/address_block.h"
#include "plan/object_fault.h"

enum { TOLD_MAX = 16 };

/* A finalizer that neither Coil's programs nor ours remove; NULL: none. */
static const char *foreign_finalizer(const struct object *object)
{
    const struct object_ties *ties = object->ties;
    for (uint32_t i = 0; ties && i < ties->finalizer_count; i++) {
        if (strcmp(ties->finalizers[i], COIL_FINALIZER) != 0)
            return ties->finalizers[i];
    }
    return NULL;
}

/* The arguments of each are those of deleted_pool_kept. */
static const struct fault_type *kept_type(enum kind kind)
{
    switch (kind) {
    case KIND_ADDRESS_POOL:
        return &fault_type_deleted_pool_kept;
    case KIND_ADDRESS_BLOCK:
        return &fault_type_deleted_block_kept;
    default:
        return &fault_type_deleted_egress_kept;
    }
}

static void tell_finalizer(const struct object *object, const char *finalizer,
                           struct faults *faults)
{
    object_raise_type(faults, object, kept_type(object->kind),
                      &(const struct fault_deleted_pool_kept){ .finalizer = finalizer,
                                                               .namespace = object->namespace,
                                                               .name = object->name });
}

/* A pool's own finalizer is removed with its last block. Returns whether it has a block. */
static bool tell_blocks(const struct store *store, const struct object *pool, struct faults *faults)
{
    const struct address_block *first = NULL;
    const struct object *object;
    size_t count = 0;
    for (size_t cursor = 0; (object = store_next(store, KIND_ADDRESS_BLOCK, &cursor));) {
        if (strcmp(to_address_block(object)->pool, pool->name) != 0)
            continue;
        if (!first || strcmp(object->name, first->object.name) < 0)
            first = to_address_block(object);
        count++;
    }
    if (!first)
        return false;
    object_raise(faults, pool, deleted_pool_in_use, .count = (int64_t)count,
                 .first = first->object.name, .node = *first->node ? first->node : "(none)");
    return true;
}

/* Returns whether there is a fault. */
static bool tell(const struct store *store, const struct object *object, struct faults *faults)
{
    const char *finalizer = foreign_finalizer(object);
    if (!finalizer)
        return object->kind == KIND_ADDRESS_POOL && tell_blocks(store, object, faults);
    tell_finalizer(object, finalizer, faults);
    return true;
}

int64_t held_faults(const struct store *store, enum kind kind, int64_t wall_ms,
                    struct faults *faults)
{
    const struct object *object;
    int64_t next_ms = INT64_MAX;
    size_t told = 0;
    for (size_t cursor = 0; (object = store_next(store, kind, &cursor));) {
        /* The API server's clock may be ahead of ours. */
        const int64_t left_ms = MIN(object->deleting_ms - wall_ms, INT64_C(0)) + HELD_PATIENCE_MS;
        if (!object->deleting)
            continue;
        if (left_ms > 0)
            next_ms = MIN(next_ms, left_ms);
        else if (told < TOLD_MAX)
            told += tell(store, object, faults);
    }
    return next_ms;
}
