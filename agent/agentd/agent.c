// SPDX-License-Identifier: Apache-2.0
/*
 * The agent: a table of parts, opened in an order in which each finds what it needs, and closed in
 * the opposite one.
 *
 *   lock -> kernel mirror -> engines -> health ports -> schedule -> standing -> pools -> addresses
 * -> BIRD -> API -> source -> Events -> Consul
 *
 * The source comes last, so that the first thing it reads is planned against a mirror that is
 * complete. READY is sent after the first pass over everything that is known to be wanted, or,
 * where that can't be known because the API is away, when the wait for it is over.
 * Ending leaves every route where it is: the network outlives the agent.
 */
#include "agentd/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/part.h"
#include "agentd/reload.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "loop/signals.h"
#include "status/fault_log.h"

static void on_fault(enum fault_change change, const struct known_fault *fault, void *context)
{
    const struct agent *agent = context;
    api_changes_note(agent->changes);
    fault_log(change, fault, NULL);
}

static void tell_faults(const struct agent *agent, struct text *text)
{
    text_add_count(text, (int64_t)fault_book_count(agent->status.faults), "fault");
    if (agent->status.config_refused)
        text_add(text, ", the new configuration is refused");
}

/* The book itself is there before any part, since each may raise faults when it is opened. */
static const struct part part_faults = { .name = "faults", .health = tell_faults };

static const struct part *const parts[] = {
    &part_lock,     &part_kernel, &part_engines, &part_services,  &part_egress, &part_schedule,
    &part_standing, &part_pools,  &part_pods,    &part_addresses, &part_bird,   &part_api,
    &part_faults,   &part_source, &part_events,  &part_consul,
};

/* What each part says of itself, in the order of the table. */
static void tell_health(const struct agent *agent, struct text *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        AUTOTEXT struct text words = { 0 };
        if (parts[i]->health)
            parts[i]->health(agent, &words);
        if (words.length)
            text_addf(text, "%s%s", text->length ? ", " : "", text_str(&words));
    }
}

static void notify(struct agent *agent)
{
    AUTOTEXT struct text text = { 0 };
    api_changes_note(agent->changes);
    tell_health(agent, &text);
    if (text_error(&text) == 0)
        notifier_status(agent->notifier, text_str(&text));
    if (agent->ready || !(agent->status.routes.complete || agent->settled))
        return;
    agent->ready = true;
    agent->status.phase = PHASE_RUNNING;
    log_event(&event_ready, NULL, "ready: %s", text_str(&text));
    notifier_send(agent->notifier, "READY=1");
}

static void on_passed(void *context)
{
    struct agent *agent = context;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (parts[i]->passed)
            parts[i]->passed(agent);
    }
    notify(agent);
}

/* Every part is told of the new configuration before the old one goes. */
static void take_config(struct agent *agent, struct config *fresh)
{
    struct config *old = agent->config;
    agent->config = fresh;
    agent->status.node = fresh->node;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (parts[i]->configure)
            parts[i]->configure(agent);
    }
    config_free(old);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    struct agent *agent = context;
    (void)source, (void)info;
    notifier_reloading(agent->notifier);
    struct config *fresh = reload_config(agent->config_path, agent->config, &agent->status);
    if (fresh)
        take_config(agent, fresh);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (parts[i]->reload)
            parts[i]->reload(agent);
    }
    api_changes_note(agent->changes);
    notifier_send(agent->notifier, "READY=1");
    return 0;
}

static int open_loop(struct agent *agent)
{
    int r = sd_event_new(&agent->event);
    if (r < 0)
        return r;
    r = looks_new(agent->event, &agent->looks);
    if (r < 0)
        return r;
    r = notifier_new(agent->event, &agent->notifier);
    if (r < 0)
        return r;
    r = notifier_feed_watchdog(agent->notifier, agent->event, PASS_PRIORITY);
    return r < 0 ? r : signals_add(agent->event, NULL, on_reload, agent);
}

static struct agent *make_agent(const char *config_path, struct config *config)
{
    CLEANUP(agent_freep) struct agent *agent = calloc(1, sizeof(*agent));
    if (!agent) {
        config_free(config);
        return NULL;
    }
    agent->lock = agent->network_lock = -1;
    agent->passed = on_passed;
    agent->told = notify;
    agent->config = config;
    agent->config_path = strdup(config_path);
    agent->store = store_new();
    agent->status = (struct status){
        .node = config->node,
        .version = FINGERPOST_VERSION,
        .started_wall_ms = clock_wall_ms(),
        .started_mono_ms = clock_mono_ms(),
        .config_path = agent->config_path,
        .config_loaded_wall_ms = clock_wall_ms(),
        .nat.enabled = config->services.enabled,
        .source = { .name = config->source.manifests ? "manifests" : "kubernetes" },
        .faults = fault_book_new(),
    };
    if (!agent->config_path || !agent->store || !agent->status.faults)
        return NULL;
    fault_book_watch(agent->status.faults, on_fault, agent);
    return TAKE_PTR(agent);
}

int agent_new(const char *config_path, struct config *config, struct agent **ret_agent)
{
    CLEANUP(agent_freep) struct agent *agent = make_agent(config_path, config);
    if (!agent)
        return -ENOMEM;
    int r = open_loop(agent);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
        r = parts[i]->open ? parts[i]->open(agent) : 0;
    if (r < 0)
        return r;
    schedule_pass(agent->schedule, true);
    *ret_agent = TAKE_PTR(agent);
    return 0;
}

int agent_run(struct agent *agent)
{
    log_notice("agentd %s for node %s: %s from %s, routes in table %u", FINGERPOST_VERSION,
               agent->config->node, agent->status.source.name, agent->status.source.path,
               agent->config->routes.table);
    int r = sd_event_loop(agent->event);
    if (r < 0)
        log_error("the event loop failed: %s", strerror(-r));
    agent->status.phase = PHASE_STOPPING;
    notifier_send(agent->notifier, "STOPPING=1");
    log_event(&event_stopped, NULL, "stopped; routes and service NAT stay");
    return r;
}

void agent_free(struct agent *agent)
{
    if (!agent)
        return;
    for (size_t i = ARRAY_SIZE(parts); i-- > 0;) {
        if (parts[i]->close)
            parts[i]->close(agent);
    }
    looks_free(agent->looks);
    store_free(agent->store);
    fault_book_free(agent->status.faults);
    nat_status_done(&agent->status.nat);
    notifier_free(agent->notifier);
    sd_event_unref(agent->event);
    config_free(agent->config);
    free(agent->config_path);
    free(agent);
}
