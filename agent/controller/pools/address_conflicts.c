// SPDX-License-Identifier: Apache-2.0
/*
 * Pools that overlap the networks of Nodes or of Services: faults of the job of addresses
 * (address_job.c). Everything is checked when a pool in force, a Node, or a clusterIP in a pool has
 * changed; ten thousand other Services cost a look-up each.
 */
#include "base/clock.h"
#include "controller/pools/address_inside.h"
#include "plan/conflicts/pool_conflicts.h"

void address_conflicts_tell(struct address_job *job)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (!job->conflicts_due && job->surveyed == job->allocator.edits)
        return;
    ip_pool_conflicts(job->job.board->store, &job->allocator.table, &faults);
    (void)fault_book_replace(job->job.board->faults, job->job.ops->name, "pools", &faults,
                             clock_wall_ms());
    job->conflicts_due = false;
    job->surveyed = job->allocator.edits;
}

/* Whether an object may have an address of a pool although the pool is not meant for it. */
static bool is_intruder(const struct address_job *job, const struct object *object)
{
    if (!object || object->kind != KIND_SERVICE)
        return object && (object->kind == KIND_NODE || object->kind == KIND_NAMESPACE ||
                          object->kind == KIND_ADDRESS_POOL);
    const struct service *service = to_service(object);
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin == ADDRESS_CLUSTER &&
            pool_at(&job->allocator.table, &service->addresses[i].ip))
            return true;
    }
    return false;
}

void address_conflicts_note(struct address_job *job, const struct change *change)
{
    job->conflicts_due |= is_intruder(job, change->before) || is_intruder(job, change->after);
}
