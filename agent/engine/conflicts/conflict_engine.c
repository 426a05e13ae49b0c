// SPDX-License-Identifier: Apache-2.0
/*
 * The engine of conflicts; see conflict_engine.h. It has no units: its planner goes over all Nodes
 * and blocks, if one of them changed, or a Service in one of this node's networks did, or one
 * outside of services.serviceCIDRs. Pools, advertisements and the networks of the configuration are
 * looked at with them, and so are Namespaces and Egresses.
 */
#include "engine/conflicts/conflict_engine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "model/services/service.h"
#include "plan/conflicts/advertisement_conflicts.h"
#include "plan/conflicts/block_conflicts.h"
#include "plan/conflicts/network_conflicts.h"
#include "plan/conflicts/node_conflicts.h"
#include "plan/conflicts/object_networks.h"

struct conflict_engine {
    struct engine engine; /* first: it is all that the pass knows of */
    struct engine_setup setup;
    prefix_list own; /* this node's networks, at the last look */
    bool changed;
    bool strays; /* ClusterIPs were told: any Service has a say */
};

static struct conflict_engine *of(struct engine *engine)
{
    return (struct conflict_engine *)engine;
}

static int open_conflicts(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct conflict_engine *conflicts = calloc(1, sizeof(*conflicts));
    if (!conflicts)
        return -ENOMEM;
    conflicts->engine.ops = &conflict_engine_ops;
    conflicts->setup = *setup;
    conflicts->changed = true;
    *ret_engine = &conflicts->engine;
    return 0;
}

static void close_conflicts(struct engine *engine)
{
    vec_done(&of(engine)->own);
    free(engine);
}

static void configure(struct engine *engine, const struct config *config)
{
    of(engine)->setup.config = config;
    of(engine)->changed = true;
}

static bool is_inside(const prefix_list *own, const struct object *object)
{
    const struct service *service = object ? to_service(object) : NULL;
    for (uint32_t i = 0; service && i < service->address_count; i++) {
        vec_each(const struct prefix, net, own) {
            if (prefix_contains(net, &service->addresses[i].ip))
                return true;
        }
    }
    return false;
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    struct conflict_engine *conflicts = of(engine);
    const enum kind kind = (change->after ? change->after : change->before)->kind;
    (void)round;
    if (kind == KIND_SERVICE)
        conflicts->changed |= conflicts->strays || is_inside(&conflicts->own, change->before) ||
                              is_inside(&conflicts->own, change->after) ||
                              network_conflicts_concern(conflicts->setup.config, change->before) ||
                              network_conflicts_concern(conflicts->setup.config, change->after);
    else
        conflicts->changed |= kind != KIND_ENDPOINT_SLICE && kind != KIND_POD;
    return 0;
}

static int hear(struct engine *engine, const struct kernel_events *events, struct round *round)
{
    (void)round;
    of(engine)->changed |= events->resynced || events->addresses;
    return 0;
}

static int plan(struct engine *engine, struct round *round)
{
    struct conflict_engine *conflicts = of(engine);
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC prefix_list own = { 0 };
    if (!conflicts->changed && !round->all)
        return 0;
    int r = node_conflicts(conflicts->setup.store, conflicts->setup.config, &own, &faults);
    if (r < 0)
        return r;
    advertisement_conflicts(conflicts->setup.store, &faults);
    conflicts->strays =
        network_conflicts(conflicts->setup.store, conflicts->setup.config, &own, &faults);
    object_networks(conflicts->setup.store, conflicts->setup.config, &faults);
    block_conflicts(conflicts->setup.store, conflicts->setup.config, &faults);
    block_link_conflicts(conflicts->setup.store, conflicts->setup.config,
                         kernel_link_addresses(conflicts->setup.kernel),
                         kernel_links(conflicts->setup.kernel), &faults);
    vec_move(&conflicts->own, &own);
    conflicts->changed = false;
    (void)fault_book_replace(conflicts->setup.status->faults, "node", "conflicts", &faults,
                             clock_wall_ms());
    return 0;
}

const struct engine_ops conflict_engine_ops = {
    .name = "conflicts",
    .open = open_conflicts,
    .close = close_conflicts,
    .configure = configure,
    .note = note,
    .hear = hear,
    .plan = plan,
};
