// SPDX-License-Identifier: Apache-2.0
/*
 * The pass over service NAT; see nat_engine.h.
 *
 * A turn is a Service whose row changed: from one row to another, from none, to none. Turns are
 * planned first and written later, so that the routes of what loses service go in between. Writing
 * is by difference: an unchanged Service costs a comparison with the live maps in a pass over
 * everything, and nothing otherwise.
 *
 * Nothing is written before the source has synced (a Service read before its slices would refuse
 * everybody), and nothing that the maps hold and no object names is removed while a manifest has
 * been broken ever since the start: that file may be what names it.
 *
 * While the copy on disk stands in for a source that has not synced, NAT only adds: a Service that
 * an earlier agent has left in the maps stays as it is there, since the maps may be newer than the
 * copy; what is proved of it tells whether both say the same.
 */
#include "engine/nat/nat_engine_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/svc0.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "plan/nat_change.h"

void nat_engine_init(struct nat_engine *engine, const struct config *config, struct store *store,
                     struct kernel *kernel, struct status *status)
{
    *engine = (struct nat_engine){
        .config = config,
        .store = store,
        .kernel = kernel,
        .status = status,
        .rows = SORTED(struct nat_row *, nat_row_cmp),
        .unproved = SORTED(struct nat_row *, nat_row_cmp),
        .due = SORTED(struct nat_row *, nat_row_cmp),
    };
    nat_proofs_init(&engine->proofs);
    nat_triggers_init(&engine->triggers);
}

void nat_engine_drop_turns(struct nat_engine *engine)
{
    vec_each(struct nat_turn, turn, &engine->turns) {
        nat_row_free(turn->new);
    }
    vec_done(&engine->turns);
}

void nat_engine_done(struct nat_engine *engine)
{
    nat_engine_drop_turns(engine);
    vec_each(struct nat_leaver, leaver, &engine->leavers) {
        nat_row_free(leaver->row);
    }
    vec_done(&engine->leavers);
    vec_done(&engine->node_ports);
    sorted_done(&engine->unproved);
    sorted_done(&engine->due);
    nat_rows_done(&engine->rows);
    nat_proofs_done(&engine->proofs);
    nat_triggers_done(&engine->triggers);
    nat_node_done(&engine->node);
    nat_plane_close(engine->plane);
}

/* Replaces the faults of a group of subsystem "services". */
static void report(struct nat_engine *engine, const char *group, const struct faults *faults)
{
    (void)fault_book_replace(engine->status->faults, "services", group, faults, clock_wall_ms());
}

void nat_engine_report_row(struct nat_engine *engine, const char *what, const struct nat_row *row,
                           const struct faults *faults)
{
    AUTOFREE char *group = text_format("%s %s/%s", what, row->namespace, row->name);
    if (group)
        report(engine, group, faults);
}

/* Addresses that an earlier agent announced stay proved until something else is known. */
static int inherit(struct nat_engine *engine)
{
    service_proof_list changes = { 0 };
    ip_list changed = { 0 };
    int r = 0;
    sorted_each(const struct route, route, kernel_routes(engine->kernel)) {
        bool service = route->protocol == ROUTE_PROTOCOL_SERVICE ||
                       route->protocol == ROUTE_PROTOCOL_DRAINING ||
                       (route->protocol >= ROUTE_PROTOCOL_CLASS_FIRST &&
                        route->protocol <= ROUTE_PROTOCOL_CLASS_LAST);
        if (r == 0 && service && route->table == engine->config->routes.table)
            r = nat_proofs_inherit(&changes, &route->prefix.ip);
    }
    if (r == 0)
        r = nat_proofs_commit(&engine->proofs, &changes, &changed);
    service_proofs_done(&changes);
    vec_done(&changed);
    return r;
}

static int take_down(struct nat_engine *engine)
{
    const char *pins = engine->config->paths.bpf;
    int hooks = nat_hooks_remove_all(pins);
    int r = nat_plane_unpin(pins), pair = svc0_remove();
    if (hooks > 0 || r > 0 || pair > 0)
        log_notice("services.enabled is false: service NAT of an earlier agent is taken down");
    return r < 0 ? r : 0;
}

void nat_engine_open(struct nat_engine *engine)
{
    const struct config *config = engine->config;
    AUTOFAULTS struct faults faults = { 0 };
    if (engine->plane)
        return;
    if (!config->services.enabled) {
        (void)take_down(engine);
        report(engine, "nat", &faults);
        return;
    }
    const struct nat_plane_options options = {
        .pins = config->paths.bpf,
        .max_flows = config->services.max_flows,
        .max_services = config->services.max_services,
        .max_endpoints = config->services.max_endpoints,
    };
    int r = nat_plane_open(&options, &engine->plane, &faults);
    if (r == 0) {
        r = nat_node_open(&engine->node, engine->plane, config->paths.bpf);
        if (r == 0)
            r = inherit(engine);
        if (r < 0) {
            nat_node_done(&engine->node);
            nat_plane_close(engine->plane);
            engine->plane = NULL;
        }
    }
    if (r < 0 && faults_none(&faults))
        faults_add(&faults, "services.enabled", "restart the agent when the cause is gone",
                   "service NAT cannot be had: %s", strerror(-r));
    report(engine, "nat", &faults);
}

struct route_facts nat_engine_facts(const struct nat_engine *engine)
{
    return (struct route_facts){
        .store = engine->store,
        .config = engine->config,
        .local_prefixes = kernel_local_prefixes(engine->kernel),
        .link_addresses = kernel_link_addresses(engine->kernel),
        .default_source = { engine->node.defaults.v4, engine->node.defaults.v6 },
    };
}

/* Where node ports are served now; true in `ret_moved` if that is elsewhere than it was. */
static int follow_node_ports(struct nat_engine *engine, const struct route_facts *facts,
                             bool *ret_moved)
{
    ip_list fresh = { 0 };
    int r = nat_node_port_addresses(facts, IP_V4, &fresh);
    if (r == 0)
        r = nat_node_port_addresses(facts, IP_V6, &fresh);
    if (r < 0) {
        vec_done(&fresh);
        return r;
    }
    bool same = fresh.count == engine->node_ports.count;
    for (size_t i = 0; same && i < fresh.count; i++)
        same = ip_equal(&fresh.items[i], &engine->node_ports.items[i]);
    vec_done(&engine->node_ports);
    engine->node_ports = fresh;
    *ret_moved = !same;
    return 0;
}

int nat_engine_observe(struct nat_engine *engine, bool *ret_way_changed, bool *ret_ports_moved)
{
    struct nat_way before = engine->node.way, *now = &engine->node.way;
    struct route_facts facts = nat_engine_facts(engine);
    int r =
        engine->plane ? nat_node_follow(&engine->node, &facts, engine->kernel, engine->status) : 0;
    *ret_way_changed = before.ifindex != now->ifindex || !ip_equal(&before.v4, &now->v4) ||
                       !ip_equal(&before.v6, &now->v6);
    facts = nat_engine_facts(engine); /* the default sources are others now */
    return r < 0 ? r : follow_node_ports(engine, &facts, ret_ports_moved);
}

const struct nat_way *nat_engine_way(const struct nat_engine *engine)
{
    return engine->node.way.ifindex ? &engine->node.way : NULL;
}

struct nat_row *nat_engine_row(const struct nat_engine *engine, const char *namespace,
                               const char *name)
{
    struct nat_row key = { .namespace = (char *)namespace, .name = (char *)name }, *at = &key;
    struct nat_row **found = sorted_find(&engine->rows, &at);
    return found ? *found : NULL;
}

static int append(ip_list *list, const ip_list *more)
{
    int r = 0;
    vec_each(const struct ip, ip, more) {
        if (r == 0)
            r = vec_push(list, *ip);
    }
    return r;
}

/* Adds what a turn touches; the lists of a whole pass are not sorted for each. */
static int add_addresses(const struct nat_row *old, const struct nat_row *new, ip_list *losses,
                         ip_list *touched)
{
    ip_list lost = { 0 }, all = { 0 };
    int r = nat_row_losses(old, new, &lost);
    if (r == 0)
        r = nat_row_addresses(old, &all);
    if (r == 0)
        r = nat_row_addresses(new, &all);
    if (r == 0)
        r = append(losses, &lost);
    if (r == 0)
        r = append(touched, &all);
    vec_done(&lost);
    vec_done(&all);
    return r;
}

/* Takes over `new`. The same again is no turn. */
static int add_turn(struct nat_engine *engine, struct nat_row *old, struct nat_row *new,
                    ip_list *losses, ip_list *touched)
{
    if ((!old && !new) || (old && new &&nat_row_equal(old, new))) {
        nat_row_free(new);
        return 0;
    }
    int r = add_addresses(old, new, losses, touched);
    if (r == 0)
        r = vec_push(&engine->turns, (struct nat_turn){ old, new });
    if (r < 0)
        nat_row_free(new);
    return r;
}

static int plan_one(struct nat_engine *engine, const struct route_facts *facts,
                    const struct nat_key *key, ip_list *losses, ip_list *touched)
{
    const struct object *object = store_get(engine->store, KIND_SERVICE, key->namespace, key->name);
    struct nat_row *old = nat_engine_row(engine, key->namespace, key->name), *new = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    int r = object ? plan_nat_service(facts, to_service(object), &new, &faults) : 0;
    if (r < 0)
        return r;
    AUTOFREE char *group = text_format("plan %s/%s", key->namespace, key->name);
    if (group)
        report(engine, group, &faults);
    return add_turn(engine, old, new, losses, touched);
}

static int key_cmp(const void *a, const void *b)
{
    const struct nat_key *left = a, *right = b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

/* Every Service that is there, or was. */
static int all_keys(const struct nat_engine *engine, nat_key_list *keys)
{
    object_list services = { 0 };
    int r = store_list(engine->store, KIND_SERVICE, &services);
    vec_each(const struct object *, object, &services) {
        if (r == 0)
            r = vec_push(keys, (struct nat_key){ (*object)->namespace, (*object)->name });
    }
    vec_done(&services);
    for (size_t i = 0; r == 0 && i < engine->rows.count; i++) {
        const struct nat_row *row = *(struct nat_row **)sorted_at(&engine->rows, i);
        r = vec_push(keys, (struct nat_key){ row->namespace, row->name });
    }
    return r;
}

int nat_engine_plan(struct nat_engine *engine, const struct nat_work *work, ip_list *losses,
                    ip_list *touched)
{
    struct route_facts facts = nat_engine_facts(engine);
    nat_key_list keys = { 0 };
    int r = 0;
    nat_engine_drop_turns(engine);
    if (!engine->plane || !status_is_known(engine->status))
        return 0;
    if (work->all)
        r = all_keys(engine, &keys);
    /* What an earlier agent announced and is not served any more goes before the maps say so. */
    sorted_each(const struct proof, proof, &engine->proofs.of_addresses) {
        if (r == 0 && work->all && !engine->synced && engine->status->source.synced)
            r = vec_push(losses, proof->address);
    }
    for (size_t i = 0; r == 0 && !work->all && i < work->keys.count; i++)
        r = vec_push(&keys, work->keys.items[i]);
    vec_sort(&keys, key_cmp);
    for (size_t i = 0; r == 0 && i < keys.count; i++) {
        if (i == 0 || key_cmp(&keys.items[i - 1], &keys.items[i]) != 0)
            r = plan_one(engine, &facts, &keys.items[i], losses, touched);
    }
    vec_done(&keys);
    ip_list_unite(losses);
    ip_list_unite(touched);
    if (r < 0)
        nat_engine_drop_turns(engine);
    return r;
}

int nat_engine_saw(struct nat_engine *engine, const struct change *change)
{
    struct nat_status *status = &engine->status->nat;
    const struct object *any = change->after ? change->after : change->before;
    bool service = any->kind == KIND_SERVICE, slice = any->kind == KIND_ENDPOINT_SLICE;
    status->service_changes += service;
    status->endpoint_changes += slice;
    status->service_pending += service;
    status->endpoint_pending += slice;
    if (service || slice)
        status->last_queued_wall_ms = clock_wall_ms();
    return engine->plane ? nat_triggers_saw(&engine->triggers, change) : 0;
}

bool nat_engine_is_new(const struct nat_engine *engine)
{
    const struct status *status = engine->status;
    if (!engine->plane || engine->synced)
        return false;
    return status->source.synced || (status->copy.in_force && !engine->complete);
}

int64_t nat_engine_next_leave(const struct nat_engine *engine)
{
    int64_t next_ms = INT64_MAX;
    vec_each(const struct nat_leaver, leaver, &engine->leavers) {
        if (leaver->due_ms < next_ms)
            next_ms = leaver->due_ms;
    }
    return next_ms;
}

int nat_engine_verify(struct nat_engine *engine, nat_difference_list *list)
{
    struct sorted rows = SORTED(struct nat_row *, nat_row_cmp);
    int r = 0;
    sorted_each(struct nat_row *, row, &engine->rows) {
        if (r == 0)
            r = sorted_put(&rows, row);
    }
    vec_each(const struct nat_leaver, leaver, &engine->leavers) {
        if (r == 0)
            r = sorted_put(&rows, &leaver->row);
    }
    if (r == 0)
        r = nat_plane_verify(engine->plane, &rows, list);
    if (r == 0)
        r = nat_node_verify(&engine->node, list);
    sorted_done(&rows);
    return r;
}
