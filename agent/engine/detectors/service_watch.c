// SPDX-License-Identifier: Apache-2.0
/*
 * Detectors of Services; see service_watch.h.
 *
 * The age of a finding counts from when this agent first saw it: so after a start, an assigner that
 * starts at the same time has time to act. What a Service lacks depends on its slices and on Nodes:
 * a changed slice has its Service judged again, a Node that is added or deleted has all of them
 * judged.
 */
#include "engine/detectors/service_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "detect/detection.h"
#include "model/node.h"
#include "model/services/endpoint_slice.h"
#include "model/services/service.h"

/* A Service with findings. */
struct unit {
    char *place;                                    /* "Service default/web" */
    struct detection detections[SERVICE_DETECTORS]; /* by row */
    bool seen;                                      /* in a round over all */
};

struct service_watch {
    struct engine_setup setup;
    struct sorted units; /* struct unit, by place; it owns their contents */
    bool changed;
    bool all;       /* every Service has to be judged again */
    int64_t due_ms; /* monotonic: when findings may change by time alone; INT64_MAX: never */
};

static int unit_cmp(const void *a, const void *b)
{
    return strcmp(((const struct unit *)a)->place, ((const struct unit *)b)->place);
}

int service_watch_new(const struct engine_setup *setup, struct service_watch **ret_watch)
{
    struct service_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return -ENOMEM;
    watch->setup = *setup;
    watch->units = (struct sorted)SORTED(struct unit, unit_cmp);
    watch->due_ms = INT64_MAX;
    *ret_watch = watch;
    return 0;
}

static void unit_done(struct unit *unit)
{
    for (size_t i = 0; i < SERVICE_DETECTORS; i++)
        detection_done(&unit->detections[i]);
    free(unit->place);
    *unit = (struct unit){ 0 };
}

void service_watch_free(struct service_watch *watch)
{
    if (!watch)
        return;
    sorted_each(struct unit, unit, &watch->units) {
        unit_done(unit);
    }
    sorted_done(&watch->units);
    free(watch);
}

void service_watch_configure(struct service_watch *watch, const struct config *config)
{
    watch->setup.config = config;
    watch->all = true;
}

static void drop(struct service_watch *watch, struct unit *unit)
{
    struct unit gone = *unit;
    sorted_remove(&watch->units, &(struct unit){ .place = gone.place });
    unit_done(&gone);
    watch->changed = true;
}

static bool is_empty(const struct unit *unit)
{
    for (size_t i = 0; i < SERVICE_DETECTORS; i++) {
        if (unit->detections[i].list.count)
            return false;
    }
    return true;
}

static int run(const struct service_watch *watch, const struct object *object, struct unit *unit,
               int64_t now_ms)
{
    const struct detector_facts facts = { .config = watch->setup.config,
                                          .store = watch->setup.store,
                                          .service = to_service(object) };
    for (size_t i = 0; i < SERVICE_DETECTORS; i++) {
        int r = detection_run(&unit->detections[i], &service_detectors[i], &facts, now_ms);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Adds a Service with its first finding. */
static int enter(struct service_watch *watch, const struct object *object, struct unit *unit,
                 int64_t now_ms)
{
    int r = run(watch, object, unit, now_ms);
    if (r < 0 || is_empty(unit))
        return r;
    r = sorted_put(&watch->units, unit);
    if (r < 0)
        return r;
    *unit = (struct unit){ 0 };
    watch->changed = true;
    return 0;
}

/* Adds or removes a Service. */
static int judge(struct service_watch *watch, const struct object *object, bool there,
                 int64_t now_ms)
{
    CLEANUP(unit_done) struct unit fresh = { .seen = true };
    fresh.place = text_format("Service %s/%s", object->namespace, object->name);
    if (!fresh.place)
        return -ENOMEM;
    struct unit *known = sorted_find(&watch->units, &fresh);
    if (!known)
        return there ? enter(watch, object, &fresh, now_ms) : 0;
    int r = there ? run(watch, object, known, now_ms) : 0;
    known->seen = true;
    watch->changed = true;
    if (!there || is_empty(known))
        drop(watch, known);
    return r;
}

static int judge_of_slice(struct service_watch *watch, const struct object *slice, int64_t now_ms)
{
    const struct object *service =
        slice ? store_get(watch->setup.store, KIND_SERVICE, slice->namespace,
                          to_endpoint_slice(slice)->service)
              : NULL;
    return service ? judge(watch, service, true, now_ms) : 0;
}

int service_watch_note(struct service_watch *watch, const struct change *change, int64_t now_ms)
{
    const struct object *object = change->after ? change->after : change->before;
    int r = 0;
    if (object->kind == KIND_SERVICE)
        return judge(watch, object, change->after != NULL, now_ms);
    if (object->kind == KIND_NODE)
        watch->all |= !change->before || !change->after ||
                      strcmp(to_node(change->before)->zone, to_node(change->after)->zone) != 0;
    if (object->kind == KIND_ENDPOINT_SLICE && change->before)
        r = judge_of_slice(watch, change->before, now_ms);
    if (object->kind == KIND_ENDPOINT_SLICE && r == 0)
        r = judge_of_slice(watch, change->after, now_ms);
    return r;
}

static int judge_all(struct service_watch *watch, int64_t now_ms)
{
    AUTOVEC object_list services = { 0 };
    int r = store_list(watch->setup.store, KIND_SERVICE, &services);
    if (r < 0)
        return r;
    sorted_each(struct unit, unit, &watch->units) {
        unit->seen = false;
    }
    vec_each(const struct object *, object, &services) {
        r = judge(watch, *object, true, now_ms);
        if (r < 0)
            return r;
    }
    for (size_t i = watch->units.count; i-- > 0;) {
        struct unit *unit = sorted_at(&watch->units, i);
        if (!unit->seen)
            drop(watch, unit);
    }
    return 0;
}

int service_watch_plan(struct service_watch *watch, bool all, int64_t now_ms)
{
    if (!all && !watch->all)
        return 0;
    int r = judge_all(watch, now_ms);
    watch->all &= r < 0;
    return r;
}

/* A fault of a Node may follow from many Services. */
static bool is_told(const struct faults *faults, const struct fault *fault)
{
    vec_each(const struct fault, told, &faults->list) {
        if (fault_is_same(told, fault))
            return true;
    }
    return false;
}

/* Adds the fault of a row, for the first of many Services by name; returns their number. */
static size_t report_unit(const struct detection *detection, size_t count, struct faults *faults)
{
    vec_each(const struct detected, detected, &detection->list) {
        const struct fault *fault = &detected->fault;
        if (detected->raised && !is_told(faults, fault) && count++ < DETECTOR_UNITS_TOLD)
            faults_add_copy(faults, fault->place, fault);
    }
    return count;
}

/* Adds the faults of a row, and returns when they change by time alone. */
static int64_t report_row(const struct service_watch *watch, size_t i, int64_t now_ms,
                          struct faults *faults)
{
    const struct detector *detector = &service_detectors[i];
    int64_t due_ms = INT64_MAX;
    size_t count = 0;
    sorted_each(struct unit, unit, &watch->units) {
        detection_pass(&unit->detections[i], detector, now_ms);
        due_ms = MIN(due_ms, detection_due_ms(&unit->detections[i], detector));
        count = report_unit(&unit->detections[i], count, faults);
    }
    if (count > DETECTOR_UNITS_TOLD)
        detector->rest((int64_t)count - DETECTOR_UNITS_TOLD, faults);
    return due_ms;
}

void service_watch_publish(struct service_watch *watch, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (!watch->changed && now_ms < watch->due_ms)
        return;
    watch->changed = false;
    watch->due_ms = INT64_MAX;
    for (size_t i = 0; i < SERVICE_DETECTORS; i++)
        watch->due_ms = MIN(watch->due_ms, report_row(watch, i, now_ms, &faults));
    (void)fault_book_replace(watch->setup.status->faults, service_detectors[0].subsystem,
                             service_detectors[0].group, &faults, clock_wall_ms());
}

int64_t service_watch_next_ms(const struct service_watch *watch)
{
    return watch->due_ms;
}
