// SPDX-License-Identifier: Apache-2.0
/*
 * The allocator; see allocator.h.
 *
 * A Service that changed is decided by itself. Pools, and Namespaces, which pools select by their
 * labels, affect all Services. A Node, or a foreign Service, may have had an address that a Service
 * waits for; Services that lack an address are decided in every update.
 */
#include "pools/allocator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

enum { DIRTY_MAX = 4096 }; /* beyond that, an update of everything costs no more */

static int ip_order(const void *a, const void *b)
{
    return ip_cmp(a, b);
}

void pool_allocator_init(struct pool_allocator *allocator)
{
    *allocator = (struct pool_allocator){ .all = true, .unowned = SORTED(struct ip, ip_order) };
    assignments_init(&allocator->assignments);
}

static void clear_dirty(struct pool_allocator *allocator)
{
    vec_each(struct own_key, key, &allocator->dirty) {
        free(key->namespace);
        free(key->name);
    }
    vec_clear(&allocator->dirty);
}

void pool_allocator_done(struct pool_allocator *allocator)
{
    clear_dirty(allocator);
    vec_done(&allocator->dirty);
    pool_table_done(&allocator->table);
    faults_done(&allocator->overlaps);
    assignments_done(&allocator->assignments);
    pools_in_force_done(&allocator->pools);
    sorted_done(&allocator->unowned);
}

static int add_dirty(struct pool_allocator *allocator, const struct object *object)
{
    struct own_key key = { strdup(object->namespace), strdup(object->name) };
    if (key.namespace && key.name && vec_push(&allocator->dirty, key) == 0)
        return 0;
    free(key.namespace);
    free(key.name);
    return -ENOMEM;
}

void pool_allocator_note(struct pool_allocator *allocator, const struct change *change)
{
    const struct object *object = change->after ? change->after : change->before;
    switch (object->kind) {
    case KIND_IP_POOL:
    case KIND_NAMESPACE:
        allocator->all = true;
        break;
    case KIND_NODE:
        allocator->due |= allocator->assignments.pending.count > 0;
        break;
    case KIND_SERVICE:
        if (!allocator->all)
            allocator->all =
                allocator->dirty.count >= DIRTY_MAX || add_dirty(allocator, object) < 0;
        break;
    default:
        break;
    }
}

bool pool_allocator_is_due(const struct pool_allocator *allocator)
{
    return allocator->all || allocator->due || allocator->dirty.count > 0 ||
           allocator->assignments.stale;
}

/* The addresses that were assigned before, by the record. */
static int list_recorded(const struct pool_allocator *allocator, struct sorted *ret_recorded)
{
    for (size_t i = 0; i < allocator->assignments.rows.count; i++) {
        vec_each(const struct ip, ip, &assignment_at(&allocator->assignments, i)->ips) {
            if (sorted_put(ret_recorded, ip) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/*
 * Holds the addresses in a Service's status; the update decides about those that the record
 * assigns.
 */
static int hold_status(struct pool_allocator *allocator, const struct service *service,
                       const struct sorted *recorded)
{
    const struct object *object = &service->object;
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode &&
            !sorted_find(recorded, &address->ip) &&
            assignments_hold(&allocator->assignments, object->namespace, object->name,
                             &address->ip) < 0)
            return -ENOMEM;
    }
    return 0;
}

/*
 * Before the first edit is judged: an edit that was made while no process ran also affects the
 * Services that have the addresses.
 */
static int hold_statuses(struct pool_allocator *allocator,
                         const struct pool_allocator_inputs *inputs)
{
    AUTOSORTED struct sorted recorded = SORTED(struct ip, ip_order);
    const struct object *object;
    int r = list_recorded(allocator, &recorded);
    if (r < 0)
        return r;
    for (size_t cursor = 0; (object = store_next(inputs->store, KIND_SERVICE, &cursor));) {
        if (assignment_is_for(inputs->load_balancer_class, to_service(object)))
            r = hold_status(allocator, to_service(object), &recorded);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_pools(struct pool_allocator *allocator, const struct pool_allocator_inputs *inputs)
{
    AUTOVEC object_list list = { 0 };
    struct pool_table table;
    AUTOFAULTS struct faults overlaps = { 0 };
    const struct pool_holders holders = {
        .store = inputs->store,
        .load_balancer_class = inputs->load_balancer_class,
        .keep_absent = inputs->keep_absent,
        .assignments = &allocator->assignments,
    };
    int r = pools_in_force_update(&allocator->pools, &holders);
    if (r < 0 || (r == 0 && allocator->tabled))
        return r;
    allocator->edits++;
    allocator->tabled = false;
    pool_table_done(&allocator->table);
    vec_each(struct object *, object, &allocator->pools.objects) {
        if (vec_push(&list, *object) < 0)
            return -ENOMEM;
    }
    r = pool_table_of(&list, &table, &overlaps);
    if (r < 0)
        return r;
    allocator->table = table;
    allocator->tabled = true;
    faults_done(&allocator->overlaps);
    allocator->overlaps = TAKE_STRUCT(overlaps);
    allocator->all = true;
    return 0;
}

static int update(struct pool_allocator *allocator, const struct pool_allocator_inputs *inputs,
                  assigned_fn each, void *context)
{
    AUTOVEC VEC(struct assignment_key) keys = { 0 };
    int r = allocator->begun ? 0 : hold_statuses(allocator, inputs);
    if (r < 0)
        return r;
    r = take_pools(allocator, inputs);
    if (r < 0)
        return r;
    allocator->begun = true;
    vec_each(const struct own_key, key, &allocator->dirty) {
        if (vec_push(&keys, (struct assignment_key){ key->namespace, key->name }) < 0)
            return -ENOMEM;
    }
    const struct assignment_inputs assigning = {
        .store = inputs->store,
        .pools = &allocator->table,
        .load_balancer_class = inputs->load_balancer_class,
        .now_ms = inputs->now_ms,
        .rest_ms = inputs->rest_ms,
        .keep_absent = inputs->keep_absent,
        .keep_only = inputs->keep_only,
        .unowned = &allocator->unowned,
    };
    const struct assignment_scope scope = { allocator->all, keys.items, keys.count };
    return assignments_update(&allocator->assignments, &assigning, &scope, each, context);
}

int pool_allocator_update(struct pool_allocator *allocator,
                          const struct pool_allocator_inputs *inputs, assigned_fn each,
                          void *context)
{
    int r = update(allocator, inputs, each, context);
    clear_dirty(allocator);
    allocator->all = r < 0;
    allocator->due = false;
    return r;
}

const struct pool *pool_allocator_find(const struct pool_allocator *allocator,
                                       const struct object *object)
{
    const struct object *in_force = pools_in_force_find(&allocator->pools, object);
    return in_force ? pool_table_find(&allocator->table, in_force) : NULL;
}

void pool_allocator_faults(const struct pool_allocator *allocator, struct faults *faults)
{
    vec_each(const struct fault, fault, &allocator->overlaps.list)
        faults_add_copy(faults, fault->place, fault);
    pools_in_force_faults(&allocator->pools, faults);
    assignment_faults(&allocator->assignments, faults);
}
