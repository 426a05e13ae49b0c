// SPDX-License-Identifier: Apache-2.0
/*
 * Wiring: every part is made here once, in an order in which each finds what it needs, and ends in
 * the opposite order. The parts do not know each other; they meet in the store, the status and the
 * reconciler's schedule.
 *
 *   lock -> kernel mirror -> engine -> reconciler -> standing -> BIRD -> API -> source
 *
 * The source comes last, so that the first thing it reads is planned against a mirror that is
 * complete. READY is sent after the first pass over everything that a synced source allows.
 * Ending leaves every route where it is: the network outlives the agent.
 */
#include "agentd/agent.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>

#include "agentd/activation.h"
#include "agentd/bgp.h"
#include "agentd/event.h"
#include "agentd/notify.h"
#include "agentd/reconcile.h"
#include "agentd/reload.h"
#include "agentd/standing.h"
#include "api/api.h"
#include "apply/kernel.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"
#include "loop/http.h"
#include "source/manifest.h"
#include "store/store.h"

struct agent {
    sd_event *event;
    char *config_path;
    struct config *config;
    int lock;
    struct store *store;
    struct status status;
    struct kernel *kernel;
    struct route_engine engine;
    struct reconciler *reconciler;
    struct standing_keeper *standing;
    struct bgp *bgp;
    struct api_state api_state;
    struct api api;
    struct http_server *socket, *tcp;
    struct manifest_source *source;
    struct notifier *notifier;
    bool ready;
};

/* STATUS= and, once, READY=1. */
static void notify(struct agent *agent)
{
    const struct route_status *routes = &agent->status.routes;
    const struct bird_status *bird = &agent->status.bird;
    size_t faults = fault_book_count(agent->status.faults);
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "%u addresses announced, %u withheld, %u blocks, ", routes->announced,
              routes->withheld, routes->blocks);
    if (bird->reachable)
        text_addf(&text, "%zu/%zu peers, ", bird_established(bird), bird->peers.count);
    text_addf(&text, "%zu faults%s%s", faults,
              agent->status.config_refused ? ", the new configuration is refused" : "",
              agent->status.source.synced ? "" : ", waiting for the manifests");
    if (text_error(&text) == 0)
        notifier_status(agent->notifier, text_str(&text));
    if (!agent->ready && routes->complete) {
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

static int on_drain(void *context)
{
    return standing_drain(((struct agent *)context)->standing);
}

static int on_undrain(void *context)
{
    return standing_undrain(((struct agent *)context)->standing);
}

static int on_withdraw(void *context)
{
    return standing_withdraw(((struct agent *)context)->standing);
}

static const struct api_action actions[] = {
    { "/v1/drain", on_drain },
    { "/v1/undrain", on_undrain },
    { "/v1/withdraw", on_withdraw },
};

static void on_source_changed(void *context)
{
    struct agent *agent = context;
    reconciler_schedule(agent->reconciler, false);
}

static uint64_t loaded_generation(void *context)
{
    struct agent *agent = context;
    return manifest_source_loaded_generation(agent->source);
}

/* What inotify cannot tell of: a change behind a link that leads out of the folder. */
static void on_doubt(void *context)
{
    struct agent *agent = context;
    manifest_source_rescan(agent->source);
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

/* Counts are brought up to date for who asks, so that idle passes need not. */
static void on_api(const struct http_request *request, struct http_reply *reply, void *context)
{
    struct agent *agent = context;
    route_engine_count(&agent->engine);
    api_handle(request, reply, &agent->api);
}

static void on_public_api(const struct http_request *request, struct http_reply *reply,
                          void *context)
{
    struct agent *agent = context;
    route_engine_count(&agent->engine);
    api_handle_public(request, reply, &agent->api_state);
}

/* Routes go on without: what BIRD says is to be known, not needed. */
static void watch_bird(struct agent *agent)
{
    int r = bgp_configure(agent->bgp, agent->config);
    if (r < 0)
        log_error("cannot watch BIRD at %s: %s", agent->config->bird.socket, strerror(-r));
}

static void report_missing_nat(struct agent *agent)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (agent->config->services.enabled)
        faults_add(&faults, "services.enabled", "set it to false beside kube-proxy",
                   "this version has no service NAT: service addresses cannot be proved and are "
                   "not announced");
    (void)fault_book_replace(agent->status.faults, "services", "nat", &faults, clock_wall_ms());
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
        agent->status.nat_enabled = fresh->services.enabled;
        watch_bird(agent);
        config_free(old);
        report_missing_nat(agent);
    }
    manifest_source_rescan(agent->source);
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
    struct reconcile_options options = {
        .event = agent->event,
        .engine = &agent->engine,
        .loaded_generation = loaded_generation,
        .doubt = on_doubt,
        .passed = on_passed,
        .context = agent,
    };
    return reconciler_new(&options, &agent->reconciler);
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

/* The socket's group; without that group only root reads. */
static gid_t socket_group(void)
{
    const struct group *group = getgrnam("fingerpost");
    return group ? group->gr_gid : (gid_t)-1;
}

/* The manager's socket, or else one of our own. */
static int open_socket(struct agent *agent)
{
    AUTOFREE char *path = text_format("%s/agentd.sock", agent->config->paths.run);
    if (!path)
        return -ENOMEM;
    int r = activation_take_socket();
    if (r >= 0) {
        r = http_listen_fd(agent->event, r, on_api, agent, &agent->socket);
    } else if (r == -ENOENT) {
        r = dir_make(agent->config->paths.run);
        if (r == 0)
            r = http_listen_unix(agent->event, path, socket_group(), on_api, agent, &agent->socket);
    }
    if (r < 0)
        log_error("cannot serve %s: %s", path, strerror(-r));
    return r;
}

static int open_api(struct agent *agent)
{
    agent->api_state = (struct api_state){
        .status = &agent->status,
        .config = agent->config,
        .store = agent->store,
        .plan = &agent->engine.plan,
        .installed = kernel_routes(agent->kernel),
        .rules = kernel_rules(agent->kernel),
    };
    agent->api = (struct api){
        .state = &agent->api_state,
        .actions = actions,
        .action_count = ARRAY_SIZE(actions),
        .action_context = agent,
    };
    int r = open_socket(agent);
    if (r < 0)
        return r;
    r = http_listen_tcp(agent->event, agent->config->api.listen, on_public_api, agent, &agent->tcp);
    if (r < 0)
        log_error("cannot serve %s (api.listen): %s", agent->config->api.listen, strerror(-r));
    return r;
}

static int start_source(struct agent *agent)
{
    struct manifest_options options = {
        .directory = agent->config->source.manifests,
        .max_file_bytes = agent->config->source.max_file_bytes,
        .store = agent->store,
        .status = &agent->status.source,
        .faults = agent->status.faults,
        .changed = on_source_changed,
        .context = agent,
    };
    int r = manifest_source_start(agent->event, &options, &agent->source);
    if (r < 0)
        log_error("cannot watch %s: %s", options.directory, strerror(-r));
    return r;
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
        .nat_enabled = config->services.enabled,
        .source = { .name = "manifests", .path = config->source.manifests },
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
    if (r == 0)
        r = take_lock(agent);
    if (r == 0)
        r = open_kernel(agent);
    if (r == 0)
        r = open_standing(agent);
    if (r == 0)
        r = open_bird(agent);
    if (r == 0)
        r = open_api(agent);
    if (r == 0)
        r = start_source(agent);
    if (r < 0)
        return r;
    report_missing_nat(agent);
    reconciler_schedule(agent->reconciler, true);
    *ret_agent = TAKE_PTR(agent);
    return 0;
}

int agent_run(struct agent *agent)
{
    log_notice("agentd %s for node %s: manifests in %s, routes in table %u", FINGERPOST_VERSION,
               agent->config->node, agent->config->source.manifests, agent->config->routes.table);
    int r = sd_event_loop(agent->event);
    if (r < 0)
        log_error("the event loop failed: %s", strerror(-r));
    agent->status.phase = PHASE_STOPPING;
    notifier_send(agent->notifier, "STOPPING=1");
    log_event(&event_stopped, NULL, "stopped; the routes stay");
    return r;
}

void agent_free(struct agent *agent)
{
    if (!agent)
        return;
    manifest_source_free(agent->source);
    http_server_free(agent->tcp);
    http_server_free(agent->socket);
    standing_free(agent->standing);
    bgp_free(agent->bgp);
    reconciler_free(agent->reconciler);
    if (agent->kernel)
        route_engine_done(&agent->engine);
    kernel_close(agent->kernel);
    store_free(agent->store);
    fault_book_free(agent->status.faults);
    closep(&agent->lock);
    notifier_free(agent->notifier);
    sd_event_unref(agent->event);
    config_free(agent->config);
    free(agent->config_path);
    free(agent);
}
