// SPDX-License-Identifier: Apache-2.0
/*
 * The waiting engine; see waiting_engine.h. Its unit is the Service.
 *
 * What waits is as old as this agent knows it to be: a start gives an assigner that starts as well
 * the same moment. Services that are another balancer's or another proxy's, and those of a node
 * that announces no addresses of load balancers, wait for nobody here.
 */
#include "engine/waiting/waiting_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "model/service.h"
#include "plan/waiting.h"

struct waiter {
    char *place; /* "Service default/web" */
    int64_t since_ms;
    bool seen; /* in a round over all */
};

struct waiting_engine {
    struct engine engine; /* first: it is all that the pass knows of */
    struct engine_setup setup;
    struct sorted waiters; /* struct waiter, by place; it owns the places */
    bool changed;
    int64_t due_ms; /* monotonic: the next one becomes a fault; INT64_MAX: none */
};

static struct waiting_engine *of(struct engine *engine)
{
    return (struct waiting_engine *)engine;
}

static int waiter_cmp(const void *a, const void *b)
{
    return strcmp(((const struct waiter *)a)->place, ((const struct waiter *)b)->place);
}

static int open_waiting(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct waiting_engine *waiting = calloc(1, sizeof(*waiting));
    if (!waiting)
        return -ENOMEM;
    waiting->engine.ops = &waiting_engine_ops;
    waiting->setup = *setup;
    waiting->waiters = (struct sorted)SORTED(struct waiter, waiter_cmp);
    waiting->due_ms = INT64_MAX;
    *ret_engine = &waiting->engine;
    return 0;
}

static void close_waiting(struct engine *engine)
{
    struct waiting_engine *waiting = of(engine);
    sorted_each(struct waiter, waiter, &waiting->waiters) {
        free(waiter->place);
    }
    sorted_done(&waiting->waiters);
    free(waiting);
}

static void configure(struct engine *engine, const struct config *config)
{
    of(engine)->setup.config = config;
}

static void drop(struct waiting_engine *waiting, struct waiter *waiter)
{
    char *place = waiter->place;
    sorted_remove(&waiting->waiters, &(struct waiter){ .place = place });
    free(place);
    waiting->changed = true;
}

/* Enters a Service, or takes it out. */
static int judge(struct waiting_engine *waiting, const struct object *object, bool there,
                 int64_t now_ms)
{
    AUTOFREE char *place = text_format("Service %s/%s", object->namespace, object->name);
    if (!place)
        return -ENOMEM;
    struct waiter *known = sorted_find(&waiting->waiters, &(struct waiter){ .place = place });
    bool wait = there && plan_service_waits(waiting->setup.config, to_service(object));
    if (known && wait)
        known->seen = true;
    else if (known)
        drop(waiting, known);
    if (known || !wait)
        return 0;
    const struct waiter waiter = { .place = place, .since_ms = now_ms, .seen = true };
    int r = sorted_put(&waiting->waiters, &waiter);
    if (r < 0)
        return r;
    (void)TAKE_PTR(place);
    waiting->changed = true;
    return 0;
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    const struct object *object = change->after ? change->after : change->before;
    return object->kind == KIND_SERVICE
               ? judge(of(engine), object, change->after != NULL, round->now_ms)
               : 0;
}

static int plan(struct engine *engine, struct round *round)
{
    struct waiting_engine *waiting = of(engine);
    AUTOVEC object_list services = { 0 };
    int r = round->all ? store_list(waiting->setup.store, KIND_SERVICE, &services) : 0;
    if (r < 0 || !round->all)
        return r;
    sorted_each(struct waiter, waiter, &waiting->waiters) {
        waiter->seen = false;
    }
    vec_each(const struct object *, object, &services) {
        r = judge(waiting, *object, true, round->now_ms);
        if (r < 0)
            return r;
    }
    for (size_t i = waiting->waiters.count; i-- > 0;) {
        struct waiter *waiter = sorted_at(&waiting->waiters, i);
        if (!waiter->seen)
            drop(waiting, waiter);
    }
    return 0;
}

static void tell(const struct waiting_engine *waiting, int64_t now_ms, struct faults *faults)
{
    static const char remedy[] =
        "see whether the program that gives addresses runs, and has one left "
        "(kubectl describe service)";
    size_t told = 0;
    sorted_each(const struct waiter, waiter, &waiting->waiters) {
        if (now_ms - waiter->since_ms < WAITING_GRACE_MS)
            continue;
        if (told++ < WAITING_TOLD_MAX)
            faults_add(
                faults, waiter->place, remedy,
                "waits for an address: status.loadBalancer.ingress has none that can be used");
    }
    if (told > WAITING_TOLD_MAX)
        faults_add(faults, "Services", remedy, "%zu more wait for an address",
                   told - WAITING_TOLD_MAX);
}

static void publish(struct engine *engine, struct round *round)
{
    struct waiting_engine *waiting = of(engine);
    AUTOFAULTS struct faults faults = { 0 };
    if (!waiting->changed && round->now_ms < waiting->due_ms)
        return;
    waiting->changed = false;
    waiting->due_ms = INT64_MAX;
    sorted_each(const struct waiter, waiter, &waiting->waiters) {
        int64_t due_ms = waiter->since_ms + WAITING_GRACE_MS;
        if (due_ms > round->now_ms)
            waiting->due_ms = MIN(waiting->due_ms, due_ms);
    }
    tell(waiting, round->now_ms, &faults);
    (void)fault_book_replace(waiting->setup.status->faults, "services", "waiting", &faults,
                             clock_wall_ms());
}

static int64_t next_ms(const struct engine *engine, int64_t now_ms)
{
    (void)now_ms;
    return ((const struct waiting_engine *)engine)->due_ms;
}

const struct engine_ops waiting_engine_ops = {
    .name = "waiting",
    .open = open_waiting,
    .close = close_waiting,
    .configure = configure,
    .note = note,
    .plan = plan,
    .publish = publish,
    .next_ms = next_ms,
};
