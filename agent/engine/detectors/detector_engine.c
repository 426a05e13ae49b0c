// SPDX-License-Identifier: Apache-2.0
/*
 * The detector engine; see detector_engine.h. Rows that depend on facts without notifications share
 * one periodic check: it reads the facts of the rows that are due, once for all of them. Rows that
 * depend on objects run in the pass, if an object or an interface address that they depend on
 * changed.
 */
#include "engine/detectors/detector_engine.h"

#include <errno.h>
#include <stdlib.h>

#include "apply/host_facts.h"
#include "base/clock.h"
#include "base/macro.h"
#include "detect/detection.h"
#include "engine/detectors/service_watch.h"

/* A row of a table, with its state. */
struct watch {
    const struct detector *detector;
    struct detection detection;
    int64_t next_ms; /* monotonic: when its facts are read again */
    bool touched;    /* an object that it depends on changed, or any may have */
};

struct detector_engine {
    struct engine engine; /* first member: the pass uses only this */
    struct engine_setup setup;
    VEC(struct watch) watches;
    struct conflict_scope conflicts;
    struct service_watch *services;
};

static struct detector_engine *of(struct engine *engine)
{
    return (struct detector_engine *)engine;
}

static void report(const struct detector_engine *engine, const struct watch *watch)
{
    AUTOFAULTS struct faults faults = { 0 };
    detection_report(&watch->detection, &faults);
    (void)fault_book_replace(engine->setup.status->faults, watch->detector->subsystem,
                             watch->detector->group, &faults, clock_wall_ms());
}

static bool is_wanted(const struct detector_engine *engine, const struct detector *detector)
{
    return !detector->wanted || detector->wanted(engine->setup.config);
}

/* Without memory the row keeps its state, and runs again when it is due. */
static void run(const struct detector_engine *engine, struct watch *watch,
                const struct detector_facts *facts, int64_t now_ms)
{
    watch->next_ms = now_ms + watch->detector->period_ms - DETECTORS_PERIOD_MS / 2;
    if (detection_run(&watch->detection, watch->detector, facts, now_ms) == 0)
        report(engine, watch);
}

static bool is_due(const struct detector_engine *engine, const struct watch *watch, int64_t now_ms)
{
    return watch->detector->period_ms > 0 && watch->next_ms <= now_ms &&
           is_wanted(engine, watch->detector);
}

static bool look(void *context, int64_t now_ms)
{
    struct detector_engine *engine = context;
    struct detector_facts facts = { .config = engine->setup.config };
    unsigned kinds = 0;
    vec_each(const struct watch, due, &engine->watches) {
        if (is_due(engine, due, now_ms))
            kinds |= due->detector->facts;
    }
    host_facts_read(kinds, &facts);
    vec_each(struct watch, watch, &engine->watches) {
        if (is_due(engine, watch, now_ms))
            run(engine, watch, &facts, now_ms);
    }
    return false;
}

static const struct look looks[] = { { "detectors", 1000, look, NULL } };
_Static_assert((int)DETECTORS_PERIOD_MS == 1000, "the period of the look");

static void close_detectors(struct engine *engine)
{
    struct detector_engine *detectors = of(engine);
    looks_drop(detectors->setup.looks, detectors);
    vec_each(struct watch, watch, &detectors->watches)
        detection_done(&watch->detection);
    vec_done(&detectors->watches);
    vec_done(&detectors->conflicts.own);
    service_watch_free(detectors->services);
    free(detectors);
}

static int open_detectors(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct detector_engine *detectors = calloc(1, sizeof(*detectors));
    if (!detectors)
        return -ENOMEM;
    detectors->engine.ops = &detector_engine_ops;
    detectors->setup = *setup;
    int r = service_watch_new(setup, &detectors->services);
    if (r == 0)
        r = looks_add(setup->looks, looks, ARRAY_SIZE(looks), detectors);
    for (const struct detector *const *table = detector_tables; *table && r == 0; table++)
        for (const struct detector *row = *table; row->name && r == 0; row++)
            if (row->period_ms > 0 || row->touched)
                r = vec_push(&detectors->watches,
                             (struct watch){ .detector = row, .touched = true });
    if (r < 0) {
        close_detectors(&detectors->engine);
        return r;
    }
    *ret_engine = &detectors->engine;
    return 0;
}

/* Forgets rows that no longer apply. */
static void configure(struct engine *engine, const struct config *config)
{
    struct detector_engine *detectors = of(engine);
    detectors->setup.config = config;
    service_watch_configure(detectors->services, config);
    vec_each(struct watch, watch, &detectors->watches) {
        watch->touched = true;
        if (is_wanted(detectors, watch->detector))
            continue;
        detection_done(&watch->detection);
        report(detectors, watch);
    }
}

/* The facts for rows that depend on objects. */
static struct detector_facts facts_of(struct detector_engine *engine)
{
    return (struct detector_facts){
        .config = engine->setup.config,
        .store = engine->setup.store,
        .link_addresses = kernel_link_addresses(engine->setup.kernel),
        .links = kernel_links(engine->setup.kernel),
        .conflicts = &engine->conflicts,
    };
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    struct detector_engine *detectors = of(engine);
    const struct detector_facts facts = facts_of(detectors);
    vec_each(struct watch, watch, &detectors->watches) {
        if (watch->detector->touched && !watch->touched)
            watch->touched = watch->detector->touched(&facts, change);
    }
    return service_watch_note(detectors->services, change, round->now_ms);
}

static int hear(struct engine *engine, const struct kernel_events *events, struct round *round)
{
    (void)round;
    vec_each(struct watch, watch, &of(engine)->watches)
        watch->touched |= events->resynced || events->addresses;
    return 0;
}

static int plan(struct engine *engine, struct round *round)
{
    struct detector_engine *detectors = of(engine);
    const struct detector_facts facts = facts_of(detectors);
    vec_each(struct watch, watch, &detectors->watches) {
        if (!watch->detector->touched || !is_wanted(detectors, watch->detector) ||
            !(watch->touched || round->all))
            continue;
        int r = detection_run(&watch->detection, watch->detector, &facts, round->now_ms);
        if (r < 0)
            return r;
        watch->touched = false;
        report(detectors, watch);
    }
    return service_watch_plan(detectors->services, round->all, round->now_ms);
}

static void publish(struct engine *engine, struct round *round)
{
    service_watch_publish(of(engine)->services, round->now_ms);
}

static int64_t next_ms(const struct engine *engine, int64_t now_ms)
{
    (void)now_ms;
    return service_watch_next_ms(((const struct detector_engine *)engine)->services);
}

const struct engine_ops detector_engine_ops = {
    .name = "detectors",
    .open = open_detectors,
    .close = close_detectors,
    .configure = configure,
    .note = note,
    .hear = hear,
    .plan = plan,
    .publish = publish,
    .next_ms = next_ms,
};
