// SPDX-License-Identifier: Apache-2.0
/*
 * Wiring: every part is made here once, in an order in which each finds what it needs, and ends in
 * the opposite order. The parts do not know each other; they meet in the store, the status and the
 * reconciler's schedule.
 *
 *   lock -> kernel mirror -> NAT -> reconciler -> standing -> BIRD -> API -> source
 *
 * The source comes last, so that the first thing it reads is planned against a mirror that is
 * complete. READY is sent after the first pass over everything that is known to be wanted, or,
 * where that can't be known because the API is away, when the wait for it is over.
 * Ending leaves every route where it is: the network outlives the agent.
 */
#include "agentd/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/agent_parts.h"
#include "agentd/reload.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"

/* What is wanted, and from whom it is known. */
static const char *describe_source(const struct status *status)
{
    if (status->source.synced)
        return "";
    if (status->copy.in_force)
        return ", from the copy on disk";
    return status->copy.path ? ", waiting for the Kubernetes API" : ", waiting for the manifests";
}

/* STATUS= and, once, READY=1. */
static void notify(struct agent *agent)
{
    const struct route_status *routes = &agent->status.routes;
    const struct bird_status *bird = &agent->status.bird;
    size_t faults = fault_book_count(agent->status.faults);
    AUTOTEXT struct text text = { 0 };
    text_add_count(&text, routes->announced, "address");
    text_addf(&text, " announced, %u withheld, ", routes->withheld);
    text_add_count(&text, routes->blocks, "block");
    text_add(&text, ", ");
    if (bird->reachable)
        text_addf(&text, "%zu/%zu peers, ", bird_established(bird), bird->peers.count);
    text_add_count(&text, (int64_t)faults, "fault");
    text_addf(&text, "%s%s",
              agent->status.config_refused ? ", the new configuration is refused" : "",
              describe_source(&agent->status));
    if (text_error(&text) == 0)
        notifier_status(agent->notifier, text_str(&text));
    if (!agent->ready && (routes->complete || agent->settled)) {
        agent->ready = true;
        agent->status.phase = PHASE_RUNNING;
        log_event(&event_ready, NULL, "ready: %s", text_str(&text));
        notifier_send(agent->notifier, "READY=1");
    }
}

static void on_passed(void *context)
{
    struct agent *agent = context;
    if (agent->status.source.synced)
        standing_observe_node(agent->standing,
                              store_get(agent->store, KIND_NODE, "", agent->config->node));
    nat_service_passed(agent->nat);
    agent_refresh_api(agent);
    bgp_passed(agent->bgp);
    notify(agent);
}

static void on_bird_changed(void *context)
{
    notify(context);
}

static void on_standing(enum standing standing, void *context)
{
    struct agent *agent = context;
    agent->engine.standing = standing;
    reconciler_schedule(agent->reconciler, true);
}

static uint64_t loaded_generation(void *context)
{
    return agent_loaded_generation(context);
}

/* What inotify cannot tell of: a change behind a link that leads out of the folder. */
static void on_doubt(void *context)
{
    agent_doubt_source(context);
}

static void on_fault(enum fault_change change, const struct held_fault *fault, void *context)
{
    (void)context;
    bool raised = change == FAULT_RAISED;
    log_event(raised ? &event_fault_raised : &event_fault_cleared,
              LOG_FIELDS({ "SUBSYSTEM", fault->subsystem }, { "OBJECT", fault->place },
                         { "FAULT", fault->message }, { "REMEDY", fault->remedy }),
              "%s: %s: %s%s", fault->subsystem, fault->place,
              raised ? "" : "no longer: ", fault->message);
}

/* Routes go on without: what BIRD says is to be known, not needed. */
static void watch_bird(struct agent *agent)
{
    int r = bgp_configure(agent->bgp, agent->config);
    if (r < 0)
        log_error("cannot watch BIRD at %s: %s", agent->config->bird.socket, strerror(-r));
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    struct agent *agent = context;
    (void)source, (void)info;
    AUTOFREE char *message =
        text_format("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us());
    if (message)
        notifier_send(agent->notifier, message);

    struct config *fresh = reload_config(agent->config_path, agent->config, &agent->status);
    if (fresh) {
        struct config *old = agent->config;
        agent->config = fresh;
        agent->engine.config = fresh;
        agent->api_state.config = fresh;
        standing_set_config(agent->standing, fresh);
        agent->status.node = fresh->node;
        nat_service_configure(agent->nat, fresh);
        agent->status.nat.enabled = fresh->services.enabled;
        watch_bird(agent);
        config_free(old);
    }
    agent_reload_source(agent);
    reconciler_schedule(agent->reconciler, true);
    notifier_send(agent->notifier, "READY=1");
    return 0;
}

static int take_lock(struct agent *agent)
{
    const char *state = agent->config->paths.state;
    pid_t holder = 0;
    agent->lock = lock_take(state, &holder);
    if (agent->lock == -EBUSY)
        log_error("another agentd (process %d) runs on %s: stop it first, or give this one its own "
                  "paths.state",
                  (int)holder, state);
    else if (agent->lock < 0)
        log_error("cannot lock %s: %s", state, strerror(-agent->lock));
    return agent->lock < 0 ? agent->lock : 0;
}

static int open_kernel(struct agent *agent)
{
    int r = kernel_open(agent->config->routes.table, &agent->kernel);
    if (r < 0) {
        log_error("cannot read the kernel's routing tables: %s", strerror(-r));
        return r;
    }
    route_engine_init(&agent->engine, agent->config, agent->store, agent->kernel, &agent->status);
    return 0;
}

static void close_kernel(struct agent *agent)
{
    if (agent->kernel)
        route_engine_done(&agent->engine);
    kernel_close(agent->kernel);
}

static void on_hook_lost(void *context)
{
    struct agent *agent = context;
    reconciler_doubt_node(agent->reconciler);
}

static int open_nat(struct agent *agent)
{
    const struct nat_service_options options = {
        .event = agent->event,
        .config = agent->config,
        .store = agent->store,
        .kernel = agent->kernel,
        .status = &agent->status,
        .lost = on_hook_lost,
        .context = agent,
    };
    int r = nat_service_new(&options, &agent->nat);
    if (r < 0)
        log_error("cannot start service NAT: %s", strerror(-r));
    else
        agent->engine.proofs = &nat_service_engine(agent->nat)->proofs.of_addresses;
    return r;
}

static void close_nat(struct agent *agent)
{
    nat_service_free(agent->nat);
}

static int open_reconciler(struct agent *agent)
{
    const struct reconcile_options options = {
        .event = agent->event,
        .engine = &agent->engine,
        .nat = nat_service_engine(agent->nat),
        .loaded_generation = loaded_generation,
        .doubt = on_doubt,
        .passed = on_passed,
        .context = agent,
    };
    return reconciler_new(&options, &agent->reconciler);
}

static void close_reconciler(struct agent *agent)
{
    reconciler_free(agent->reconciler);
}

static int open_standing(struct agent *agent)
{
    struct standing_options options = {
        .event = agent->event,
        .config = agent->config,
        .status = &agent->status,
        .changed = on_standing,
        .context = agent,
    };
    int r = standing_new(&options, &agent->standing);
    if (r < 0)
        log_error("cannot read %s/standing.json: %s", agent->config->paths.state, strerror(-r));
    return r;
}

static void close_standing(struct agent *agent)
{
    standing_free(agent->standing);
}

static int open_bird(struct agent *agent)
{
    struct bgp_options options = {
        .event = agent->event,
        .status = &agent->status,
        .installed = kernel_routes(agent->kernel),
        .timing = &bird_timing_default,
        .changed = on_bird_changed,
        .context = agent,
    };
    int r = bgp_new(&options, &agent->bgp);
    if (r == 0)
        watch_bird(agent);
    return r;
}

static void close_bird(struct agent *agent)
{
    bgp_free(agent->bgp);
}

static int add_signals(struct agent *agent)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
        return -errno;
    int r = sd_event_add_signal(agent->event, NULL, SIGTERM, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(agent->event, NULL, SIGINT, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(agent->event, NULL, SIGHUP, on_reload, agent);
    return r < 0 ? r : 0;
}

static void release_lock(struct agent *agent)
{
    closep(&agent->lock);
}

/* In the order in which each finds what it needs; they end in the opposite one. */
static const struct part {
    int (*open)(struct agent *agent);
    void (*close)(struct agent *agent);
} parts[] = {
    { take_lock, release_lock },
    { open_kernel, close_kernel },
    { open_nat, close_nat },
    { open_reconciler, close_reconciler },
    { open_standing, close_standing },
    { open_bird, close_bird },
    { agent_open_api, agent_close_api },
    { agent_open_source, agent_close_source },
};

int agent_new(const char *config_path, struct config *config, struct agent **ret_agent)
{
    CLEANUP(agent_freep) struct agent *agent = calloc(1, sizeof(*agent));
    if (!agent) {
        config_free(config);
        return -ENOMEM;
    }
    agent->lock = -1;
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
        .source = { .name = config->source.manifests ? "manifests" : "kubernetes",
                    .path = config->source.manifests },
        .faults = fault_book_new(),
    };
    if (!agent->config_path || !agent->store || !agent->status.faults)
        return -ENOMEM;
    fault_book_watch(agent->status.faults, on_fault, NULL);

    int r = sd_event_new(&agent->event);
    if (r >= 0)
        r = notifier_new(agent->event, &agent->notifier);
    if (r == 0)
        r = notifier_feed_watchdog(agent->notifier, agent->event, PASS_PRIORITY);
    if (r == 0)
        r = add_signals(agent);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
        r = parts[i].open(agent);
    if (r < 0)
        return r;
    reconciler_schedule(agent->reconciler, true);
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
    for (size_t i = ARRAY_SIZE(parts); i-- > 0;)
        parts[i].close(agent);
    store_free(agent->store);
    fault_book_free(agent->status.faults);
    nat_status_done(&agent->status.nat);
    notifier_free(agent->notifier);
    sd_event_unref(agent->event);
    config_free(agent->config);
    free(agent->config_path);
    free(agent);
}
