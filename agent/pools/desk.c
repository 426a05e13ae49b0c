// SPDX-License-Identifier: Apache-2.0
/*
 * The desk; see desk.h.
 *
 * A Service that changed is looked at by itself. Pools, and Namespaces, which pools select by their
 * labels, concern everybody. A Node, or a Service of others, may have had an address that somebody
 * waits for; who lacks something is looked at in every update.
 */
#include "pools/desk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

enum { DIRTY_MAX = 4096 }; /* beyond that, everything costs no more */

static int ip_order(const void *a, const void *b)
{
    return ip_cmp(a, b);
}

void pool_desk_init(struct pool_desk *desk)
{
    *desk = (struct pool_desk){ .all = true, .unowned = SORTED(struct ip, ip_order) };
    assignments_init(&desk->assignments);
}

static void clear_dirty(struct pool_desk *desk)
{
    vec_each(struct own_key, key, &desk->dirty) {
        free(key->namespace);
        free(key->name);
    }
    vec_clear(&desk->dirty);
}

void pool_desk_done(struct pool_desk *desk)
{
    clear_dirty(desk);
    vec_done(&desk->dirty);
    pool_table_done(&desk->table);
    faults_done(&desk->overlaps);
    assignments_done(&desk->assignments);
    pools_in_force_done(&desk->pools);
    sorted_done(&desk->unowned);
}

static int add_dirty(struct pool_desk *desk, const struct object *object)
{
    struct own_key key = { strdup(object->namespace), strdup(object->name) };
    if (key.namespace && key.name && vec_push(&desk->dirty, key) == 0)
        return 0;
    free(key.namespace);
    free(key.name);
    return -ENOMEM;
}

void pool_desk_note(struct pool_desk *desk, const struct change *change)
{
    const struct object *object = change->after ? change->after : change->before;
    switch (object->kind) {
    case KIND_IP_POOL:
    case KIND_NAMESPACE:
        desk->all = true;
        break;
    case KIND_NODE:
        desk->due |= desk->assignments.pending.count > 0;
        break;
    case KIND_SERVICE:
        if (!desk->all)
            desk->all = desk->dirty.count >= DIRTY_MAX || add_dirty(desk, object) < 0;
        break;
    default:
        break;
    }
}

bool pool_desk_is_due(const struct pool_desk *desk)
{
    return desk->all || desk->due || desk->dirty.count > 0 || desk->assignments.stale;
}

/* What was given before, by the record. */
static int list_recorded(const struct pool_desk *desk, struct sorted *ret_recorded)
{
    for (size_t i = 0; i < desk->assignments.rows.count; i++) {
        vec_each(const struct ip, ip, &assignment_at(&desk->assignments, i)->ips) {
            if (sorted_put(ret_recorded, ip) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* Those of a Service's status; what the record says is somebody's is for the update to judge. */
static int hold_status(struct pool_desk *desk, const struct service *service,
                       const struct sorted *recorded)
{
    const struct object *object = &service->object;
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode &&
            !sorted_find(recorded, &address->ip) &&
            assignments_hold(&desk->assignments, object->namespace, object->name, &address->ip) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Before the first edit is judged: an edit while nobody looked takes from those who have it. */
static int hold_statuses(struct pool_desk *desk, const struct pool_desk_inputs *inputs)
{
    struct sorted recorded = SORTED(struct ip, ip_order);
    const struct object *object;
    int r = list_recorded(desk, &recorded);
    for (size_t cursor = 0; (object = store_next(inputs->store, KIND_SERVICE, &cursor));) {
        if (r == 0 && assignment_is_for(inputs->load_balancer_class, to_service(object)))
            r = hold_status(desk, to_service(object), &recorded);
    }
    sorted_done(&recorded);
    return r;
}

static int take_pools(struct pool_desk *desk, const struct pool_desk_inputs *inputs)
{
    AUTOVEC object_list list = { 0 };
    struct pool_table table;
    AUTOFAULTS struct faults overlaps = { 0 };
    const struct pool_holders holders = {
        .store = inputs->store,
        .load_balancer_class = inputs->load_balancer_class,
        .keep_absent = inputs->keep_absent,
        .assignments = &desk->assignments,
    };
    int r = pools_in_force_update(&desk->pools, &holders);
    if (r < 0 || (r == 0 && desk->tabled))
        return r;
    desk->edits++;
    desk->tabled = false;
    pool_table_done(&desk->table);
    vec_each(struct object *, object, &desk->pools.objects) {
        if (vec_push(&list, *object) < 0)
            return -ENOMEM;
    }
    r = pool_table_of(&list, &table, &overlaps);
    if (r < 0)
        return r;
    desk->table = table;
    desk->tabled = true;
    faults_done(&desk->overlaps);
    desk->overlaps = TAKE_STRUCT(overlaps);
    desk->all = true;
    return 0;
}

static int update(struct pool_desk *desk, const struct pool_desk_inputs *inputs, assigned_fn each,
                  void *context)
{
    AUTOVEC VEC(struct assignment_key) keys = { 0 };
    int r = desk->begun ? 0 : hold_statuses(desk, inputs);
    if (r == 0)
        r = take_pools(desk, inputs);
    if (r < 0)
        return r;
    desk->begun = true;
    vec_each(const struct own_key, key, &desk->dirty) {
        if (vec_push(&keys, (struct assignment_key){ key->namespace, key->name }) < 0)
            return -ENOMEM;
    }
    const struct assignment_inputs assigning = {
        .store = inputs->store,
        .pools = &desk->table,
        .load_balancer_class = inputs->load_balancer_class,
        .now_ms = inputs->now_ms,
        .rest_ms = inputs->rest_ms,
        .keep_absent = inputs->keep_absent,
        .keep_only = inputs->keep_only,
        .unowned = &desk->unowned,
    };
    const struct assignment_scope scope = { desk->all, keys.items, keys.count };
    return assignments_update(&desk->assignments, &assigning, &scope, each, context);
}

int pool_desk_update(struct pool_desk *desk, const struct pool_desk_inputs *inputs,
                     assigned_fn each, void *context)
{
    int r = update(desk, inputs, each, context);
    clear_dirty(desk);
    desk->all = r < 0;
    desk->due = false;
    return r;
}

const struct pool *pool_desk_find(const struct pool_desk *desk, const struct object *object)
{
    const struct object *in_force = pools_in_force_find(&desk->pools, object);
    return in_force ? pool_table_find(&desk->table, in_force) : NULL;
}

void pool_desk_faults(const struct pool_desk *desk, struct faults *faults)
{
    vec_each(const struct fault, fault, &desk->overlaps.list)
        faults_add_copy(faults, fault->place, fault);
    pools_in_force_faults(&desk->pools, faults);
    assignment_faults(&desk->assignments, faults);
}
