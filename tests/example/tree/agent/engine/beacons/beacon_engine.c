// SPDX-License-Identifier: Apache-2.0
/*
 * The engine of the Beacons; see beacon_engine.h. It plans so little that any change makes all of
 * it dirty. Of its table the mirror holds the routes of its own protocol number, and no others.
 */
#include "engine/beacons/beacon_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "plan/beacons.h"

struct beacon_engine {
    struct engine engine; /* first: it is all that the pass knows of */
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    struct sorted wanted; /* struct route: as planned */
    bool dirty;           /* something changed: to be planned and compared */
    bool foreign_change;  /* ... and that was a route of ours, by somebody else's hand */
    bool known;           /* what no object names may be removed */
};

static int scope(const struct config *config, struct kernel_scope *scope)
{
    (void)config;
    return scope_add_routes(scope, BEACON_TABLE, BEACON_PROTOCOL);
}

static int open_beacons(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct beacon_engine *beacons = malloc(sizeof(*beacons));
    if (!beacons)
        return -ENOMEM;
    *beacons = (struct beacon_engine){
        .engine = { &beacon_engine_ops },
        .store = setup->store,
        .kernel = setup->kernel,
        .status = setup->status,
        .wanted = SORTED(struct route, route_cmp),
    };
    *ret_engine = &beacons->engine;
    return 0;
}

static void close_beacons(struct engine *engine)
{
    sorted_done(&((struct beacon_engine *)engine)->wanted);
    free(engine);
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    const struct object *any = change->after ? change->after : change->before;
    (void)round;
    ((struct beacon_engine *)engine)->dirty |= any->kind == KIND_BEACON;
    return 0;
}

static int hear(struct engine *engine, const struct kernel_events *events, struct round *round)
{
    struct beacon_engine *beacons = (struct beacon_engine *)engine;
    vec_each(const struct route, route, &events->routes)
        beacons->foreign_change |= route->table == BEACON_TABLE;
    beacons->dirty |= beacons->foreign_change || events->resynced;
    round->expected |= beacons->dirty;
    return 0;
}

static int plan(struct engine *engine, struct round *round)
{
    struct beacon_engine *beacons = (struct beacon_engine *)engine;
    beacons->dirty |= round->all;
    if (!beacons->dirty)
        return 0;
    sorted_clear(&beacons->wanted);
    return plan_beacons(beacons->store, &beacons->wanted);
}

/* What the kernel refuses is a fault, and asked for again when anything changes. */
static int apply(struct beacon_engine *beacons, const beacon_ops *ops)
{
    char route[ROUTE_STRLEN];
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFREE struct op_result *results = calloc(ops->count + 1, sizeof(*results));
    if (!results)
        return -ENOMEM;
    int r = kernel_apply_routes(beacons->kernel, ops->items, ops->count, results);
    for (size_t i = 0; r == 0 && i < ops->count; i++) {
        if (results[i].error)
            faults_add(&faults, route_str(&ops->items[i].route, route), NULL,
                       "the kernel refuses it: %s", strerror(-results[i].error));
    }
    (void)fault_book_replace(beacons->status->faults, "beacons", "refused", &faults,
                             clock_wall_ms());
    return r < 0 ? r : kernel_read(beacons->kernel);
}

static int write_beacons(struct engine *engine, struct round *round)
{
    struct beacon_engine *beacons = (struct beacon_engine *)engine;
    AUTOVEC beacon_ops ops = { 0 };
    if (!beacons->dirty)
        return 0;
    /* A file that has been broken since the start may name what no other does. */
    beacons->known = round->may_remove && beacons->status->source.unknown_files == 0;
    int r = diff_beacons(&beacons->wanted, kernel_routes(beacons->kernel), beacons->known, &ops);
    if (r < 0)
        return r;
    round->changes += (uint32_t)ops.count;
    round->repairs += beacons->foreign_change ? (uint32_t)ops.count : 0;
    return apply(beacons, &ops);
}

/* Until all is known there may be something left to remove. After a failure all is dirty. */
static void publish(struct engine *engine, struct round *round)
{
    struct beacon_engine *beacons = (struct beacon_engine *)engine;
    (void)round;
    beacons->dirty = !beacons->known;
    beacons->foreign_change = false;
}

const struct engine_ops beacon_engine_ops = {
    .name = "beacons",
    .scope = scope,
    .open = open_beacons,
    .close = close_beacons,
    .note = note,
    .hear = hear,
    .plan = plan,
    .write = write_beacons,
    .publish = publish,
};
