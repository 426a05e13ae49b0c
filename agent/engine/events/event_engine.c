// SPDX-License-Identifier: Apache-2.0
/*
 * The events engine; see event_engine.h. Its unit is the address: which Service owns one of its
 * ports, and whether it is refused, is the same question for all Services that name the address.
 * Addresses of a changed object are dirty, as for routes; in a round over all, every address of
 * every Service is.
 *
 * The table is bounded: a cluster in which every Service is refused has one fault in its
 * configuration, and does not need thousands of Events about it.
 */
#include "engine/events/event_engine.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/facts.h"
#include "model/services/service.h"
#include "plan/nat/service_event.h"
#include "plan/routes/affected.h"

struct event_engine {
    struct engine engine; /* first member: the pass uses only this */
    struct engine_setup setup;
    ip_list dirty;        /* duplicates possible */
    struct sorted events; /* struct service_event *, which it owns */
    bool on;
};

static struct event_engine *of(struct engine *engine)
{
    return (struct event_engine *)engine;
}

static void clear(struct event_engine *events)
{
    sorted_each(struct service_event *, event, &events->events) {
        free(*event);
    }
    sorted_clear(&events->events);
}

static int open_events(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct event_engine *events = calloc(1, sizeof(*events));
    if (!events)
        return -ENOMEM;
    events->engine.ops = &event_engine_ops;
    events->setup = *setup;
    events->events = (struct sorted)SORTED(struct service_event *, service_event_cmp);
    events->on = config_has_events(setup->config);
    setup->board->service_events = &events->events;
    *ret_engine = &events->engine;
    return 0;
}

static void close_events(struct engine *engine)
{
    struct event_engine *events = of(engine);
    events->setup.board->service_events = NULL;
    clear(events);
    sorted_done(&events->events);
    vec_done(&events->dirty);
    free(events);
}

static void configure(struct engine *engine, const struct config *config)
{
    of(engine)->setup.config = config;
    of(engine)->on = config_has_events(config);
}

static struct node_facts facts_of(const struct event_engine *events)
{
    const struct engine_setup *setup = &events->setup;
    return node_facts_of(setup->config, setup->store, setup->kernel, &setup->board->leads,
                         &setup->board->defaults);
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    struct event_engine *events = of(engine);
    const struct object *any = change->after ? change->after : change->before;
    bool all = false;
    (void)round;
    if (!events->on || any->kind != KIND_SERVICE)
        return 0;
    const struct node_facts facts = facts_of(events);
    return plan_affected_addresses(&facts, change, &events->dirty, &all);
}

static int add_all(struct event_engine *events)
{
    AUTOVEC object_list services = { 0 };
    int r = store_list(events->setup.store, KIND_SERVICE, &services);
    if (r < 0)
        return r;
    vec_clear(&events->dirty);
    vec_each(const struct object *, object, &services) {
        const struct service *service = to_service(*object);
        for (uint32_t i = 0; i < service->address_count; i++) {
            if (vec_push(&events->dirty, service->addresses[i].ip) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static void drop_address(struct event_engine *events, const struct ip *ip)
{
    const struct service_event least = { .ip = *ip };
    const struct service_event *key = &least;
    size_t at = sorted_lower_bound(&events->events, &key);
    while (at < events->events.count) {
        struct service_event *event = *(struct service_event **)sorted_at(&events->events, at);
        if (!ip_equal(&event->ip, ip))
            break;
        sorted_remove(&events->events, &event);
        free(event);
    }
}

/* Moves the plan into the table, as far as there is room. */
static int keep(struct event_engine *events, service_event_list *list)
{
    vec_each(struct service_event *, event, list) {
        bool known = sorted_find(&events->events, event) != NULL;
        if (known || events->events.count >= SERVICE_EVENTS_MAX)
            continue;
        int r = sorted_put(&events->events, event);
        if (r < 0)
            return r;
        *event = NULL;
    }
    return 0;
}

static int plan_address(struct event_engine *events, const struct node_facts *facts,
                        const struct ip *ip)
{
    AUTOEVENTS service_event_list list = { 0 };
    int r = plan_service_events(facts, ip, &list);
    if (r < 0)
        return r;
    drop_address(events, ip);
    return keep(events, &list);
}

static int plan(struct engine *engine, struct round *round)
{
    struct event_engine *events = of(engine);
    int r = round->all && events->on ? add_all(events) : 0;
    if (r < 0)
        return r;
    if (round->all)
        clear(events);
    vec_sort(&events->dirty, ip_item_cmp);
    vec_drop_equal(&events->dirty, ip_item_cmp);
    const struct node_facts facts = facts_of(events);
    vec_each(const struct ip, ip, &events->dirty) {
        r = plan_address(events, &facts, ip);
        if (r < 0)
            return r;
    }
    return 0;
}

/* After a failure all is dirty. */
static void publish(struct engine *engine, struct round *round)
{
    (void)round;
    vec_clear(&of(engine)->dirty);
}

const struct engine_ops event_engine_ops = {
    .name = "events",
    .open = open_events,
    .close = close_events,
    .configure = configure,
    .note = note,
    .plan = plan,
    .publish = publish,
};
