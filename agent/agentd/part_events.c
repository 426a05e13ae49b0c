// SPDX-License-Identifier: Apache-2.0
/*
 * Events for the owners of Services, as a part of the agent: what the events engine has planned and
 * health ports that are taken go to the keeper after each pass. Nothing waits for what comes of it.
 *
 * Nothing is written before the source has synced: what a copy on disk says may long be mended.
 */
#include <string.h>

#include "agentd/part.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/services/service.h"

/* Of health ports, whose events are made here. */
struct gathering {
    const struct agent *agent;
    service_event_list list; /* all; the planned ones are the engine's */
    service_event_list own;
    int error;
};

static void add_taken_port(void *context, const struct nat_health_port *port)
{
    struct gathering *gathering = context;
    const struct object *object =
        store_get(gathering->agent->store, KIND_SERVICE, port->namespace, port->name);
    struct service_event *event = NULL;
    if (!object || !*object->uid || gathering->error < 0)
        return;
    gathering->error = plan_health_event(to_service(object), port->port, &event);
    if (gathering->error < 0)
        return;
    gathering->error = vec_push(&gathering->own, event);
    if (gathering->error < 0)
        free(event);
    else
        gathering->error = vec_push(&gathering->list, event);
}

static void gathering_done(struct gathering *gathering)
{
    service_events_done(&gathering->own);
    vec_done(&gathering->list);
}

static void follow_pass(struct agent *agent)
{
    CLEANUP(gathering_done) struct gathering gathering = { .agent = agent };
    const struct sorted *planned = agent->board.service_events;
    if (!agent->events || !agent->status.source.synced || !planned)
        return;
    sorted_each(struct service_event *, event, planned) {
        gathering.error = vec_push(&gathering.list, *event);
        if (gathering.error < 0)
            break;
    }
    health_each_taken_port(agent->health, add_taken_port, &gathering);
    if (gathering.error == 0)
        event_keeper_want(agent->events, &gathering.list);
}

static void on_writes_changed(void *context)
{
    api_changes_note(((struct agent *)context)->changes);
}

/* What keeps Events from being written keeps nothing else from its work. */
static int connect_keeper(struct agent *agent)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct event_keeper_options options = {
        .event = agent->event,
        .node = agent->config->node,
        .status = &agent->status,
        .changed = on_writes_changed,
        .context = agent,
    };
    int r = source_load_kubeconfig(agent, &options.config, &faults);
    if (r < 0)
        return r;
    return agent->events ? event_keeper_reconnect(agent->events, options.config)
                         : event_keeper_new(&options, &agent->events);
}

static void try_to_connect(struct agent *agent)
{
    int r = connect_keeper(agent);
    if (r < 0)
        log_error("cannot write Events: %s", strerror(-r));
}

static void close_events(struct agent *agent)
{
    event_keeper_free(TAKE_PTR(agent->events));
}

static int open_events(struct agent *agent)
{
    if (config_has_events(agent->config))
        try_to_connect(agent);
    return 0;
}

static void configure_events(struct agent *agent)
{
    if (!config_has_events(agent->config))
        close_events(agent);
    else if (!agent->events)
        try_to_connect(agent);
}

/* The kubeconfig may be another. One that can't be read is the source's fault to tell. */
static void reload_events(struct agent *agent)
{
    if (agent->events)
        try_to_connect(agent);
}

const struct part part_events = {
    .name = "events",
    .open = open_events,
    .configure = configure_events,
    .reload = reload_events,
    .passed = follow_pass,
    .close = close_events,
};
