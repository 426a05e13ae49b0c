// SPDX-License-Identifier: Apache-2.0
/*
 * The controller: a source, an elector and the jobs around one store and one board.
 *
 *   source --> store --(changes)--> jobs: note, work --> job_writer --> API
 *   elector --(leads, leads no more)--> jobs: lead
 *
 * Each event schedules a round, which handles all events that arrived together. A round passes
 * changed objects to the jobs, whether or not this controller leads; only the leader's jobs work.
 * So a follower has the same state as the leader, and takes over without reading anything.
 *
 * The controller keeps nothing on disk: its decisions are stored in the API.
 */
#include "controller/controller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "client/kube/kubeconfig.h"
#include "controller/controller_socket.h"
#include "controller/jobs.h"
#include "loop/deferred.h"
#include "loop/notify.h"
#include "loop/signals.h"
#include "loop/timer.h"
#include "plan/export/export.h"
#include "source/kube.h"
#include "status/fault_log.h"

enum {
    ROUND_PRIORITY = 100, /* after all events that have arrived */
    FULL_ROUND_MS = 5 * MINUTE_MS,
    FAILED_ROUND_MS = 5 * SECOND_MS,
    RELEASE_MS = 3 * SECOND_MS, /* to release the Lease and what jobs hold, at exit */
};

struct controller {
    sd_event *event;
    char *config_path;
    struct controller_config *config;
    struct store *store;
    struct controller_status status;
    struct notifier *notifier;
    struct kube_client *client;
    struct kube_source *source;
    struct kube_resource rows[KIND_COUNT];
    struct kube_resources resources;
    struct elector *elector;
    struct board board;
    struct jobs *jobs;
    struct controller_state state; /* for the socket */
    struct controller_socket *socket;
    struct deferred *round;
    struct timer *timer, *release_timer;
    int64_t full_ms; /* when the next round over everything is due, monotonic */
    bool led;        /* as last passed to the jobs */
    bool again;      /* to restart at the end */
    bool released;   /* at exit: the Lease was released */
};

/* ---- Rounds ---- */

static void arm(struct controller *controller, int64_t now_ms)
{
    int64_t next_ms = jobs_next_ms(controller->jobs, now_ms);
    if (board_may_write(&controller->board))
        next_ms = MIN(next_ms, controller->full_ms);
    if (next_ms == INT64_MAX)
        timer_disarm(controller->timer);
    else
        timer_arm(controller->timer, next_ms - now_ms);
}

static int note_changes(struct controller *controller)
{
    AUTOVEC change_list changes = { 0 };
    int r = store_changes(controller->store, &changes);
    if (r < 0)
        return r;
    vec_each(const struct change, change, &changes) {
        int noted = jobs_note(controller->jobs, change);
        if (noted < 0)
            r = noted;
    }
    return r;
}

/* The exit waits for the Lease, and for what jobs release. */
static void end_if_over(struct controller *controller)
{
    if (controller->released && !jobs_ending(controller->jobs))
        sd_event_exit(controller->event, 0);
}

static int work(struct controller *controller, int64_t now_ms)
{
    int r = note_changes(controller);
    if (r < 0 || !board_may_write(&controller->board))
        return r;
    const struct job_round round = { now_ms, now_ms >= controller->full_ms };
    r = jobs_work(controller->jobs, &round);
    if (r < 0)
        return r;
    if (round.all)
        controller->full_ms = now_ms + FULL_ROUND_MS;
    return 0;
}

/* Without memory, the changes are dropped as well, and a round over everything follows. */
static void run_round(void *context)
{
    struct controller *controller = context;
    int64_t now_ms = clock_mono_ms();
    uint64_t generation = kube_source_loaded_generation(controller->source);
    int r = work(controller, now_ms);
    if (r < 0)
        controller->full_ms = now_ms + FAILED_ROUND_MS;
    else
        controller->status.source.applied_generation = generation;
    store_changes_done(controller->store);
    arm(controller, now_ms);
    end_if_over(controller);
}

static void wake(void *context)
{
    deferred_schedule(((struct controller *)context)->round);
}

/* ---- Status ---- */

static void tell_manager(struct controller *controller)
{
    AUTOTEXT struct text text = { 0 };
    const struct controller_status *status = &controller->status;
    const struct election_status *election = &status->election;
    if (election->leading)
        text_add(&text, "leads");
    else
        text_addf(&text, "follows %s", *election->holder ? election->holder : "nobody");
    if (!status->source.synced)
        text_add(&text, ", waiting for the Kubernetes API");
    text_add(&text, ", ");
    text_add_count(&text, (int64_t)fault_book_count(status->faults), "fault");
    if (text_error(&text) == 0)
        notifier_status(controller->notifier, text_str(&text));
}

static void on_source(void *context)
{
    struct controller *controller = context;
    tell_manager(controller);
    wake(controller);
}

/* Jobs are notified at once: writes under way end now, and not after other pending events. */
static void on_election(void *context)
{
    struct controller *controller = context;
    bool leads = controller->status.election.leading;
    if (leads != controller->led) {
        controller->led = leads;
        controller->full_ms = 0;
        jobs_lead(controller->jobs, leads);
        wake(controller);
    }
    tell_manager(controller);
}

/* ---- Start ---- */

int controller_load(const char *path, struct controller_config **ret_config, struct faults *faults)
{
    CLEANUP(controller_config_freep) struct controller_config *config = NULL;
    int r = controller_config_load(path, &config, faults);
    if (r < 0)
        return r;
    if (config->exports.cluster)
        plan_export_check(&config->exports, faults);
    if (!faults_none(faults))
        return -EBADMSG;
    r = config->source.kubeconfig ? kube_config_try(config->source.kubeconfig, faults) : 0;
    if (r < 0)
        return r;
    *ret_config = TAKE_PTR(config);
    return 0;
}

static int load_kube(const struct controller *controller, struct kube_config **ret_kube)
{
    AUTOFAULTS struct faults faults = { 0 };
    const char *path = controller->config->source.kubeconfig;
    int r = path ? kube_config_load(path, ret_kube, &faults)
                 : kube_config_in_cluster(KUBE_SERVICE_ACCOUNT, ret_kube, &faults);
    vec_each(const struct fault, fault, &faults.list)
        log_error("%s: %s", fault->place, fault->message);
    return r;
}

static int open_client(struct controller *controller)
{
    struct kube_config *kube = NULL;
    int r = load_kube(controller, &kube);
    return r < 0 ? r : kube_client_new(controller->event, kube, &controller->client);
}

static int open_elector(struct controller *controller)
{
    const struct elector_options options = {
        .event = controller->event,
        .client = controller->client,
        .config = controller->config,
        .status = &controller->status.election,
        .faults = controller->status.faults,
        .changed = on_election,
        .context = controller,
    };
    return elector_new(&options, &controller->elector);
}

static int open_jobs(struct controller *controller)
{
    controller->board = (struct board){
        .event = controller->event,
        .config = controller->config,
        .store = controller->store,
        .client = controller->client,
        .elector = controller->elector,
        .status = &controller->status,
        .faults = controller->status.faults,
        .wake = wake,
        .context = controller,
    };
    controller->resources = jobs_resources(controller->config, NULL, controller->rows);
    return jobs_open(&controller->board, NULL, &controller->jobs);
}

static int open_source(struct controller *controller)
{
    struct kube_source_options options = {
        .resources = &controller->resources,
        .node = "",
        .proxy_name = "",
        .needed = { [KIND_EGRESS] = controller->config->egress.enabled },
        .store = controller->store,
        .status = &controller->status.source,
        .faults = controller->status.faults,
        .changed = on_source,
        .context = controller,
    };
    int r = load_kube(controller, &options.config);
    return r < 0 ? r : kube_source_start(controller->event, &options, &controller->source);
}

static void refresh(void *context)
{
    struct controller *controller = context;
    jobs_publish(controller->jobs, &controller->status);
    controller->state = (struct controller_state){ &controller->status, controller->store };
    jobs_lend(controller->jobs, &controller->state);
}

static int open_socket(struct controller *controller)
{
    const struct controller_socket_options options = {
        .event = controller->event,
        .config = controller->config,
        .state = &controller->state,
        .refresh = refresh,
        .context = controller,
    };
    return controller_socket_new(&options, &controller->socket);
}

static void on_released(void *context)
{
    struct controller *controller = context;
    controller->released = true;
    end_if_over(controller);
}

static void give_up_release(void *context)
{
    sd_event_exit(((struct controller *)context)->event, 0);
}

/* Leadership ends first: nothing more is written while the Lease is released. */
static void begin_end(struct controller *controller, bool again)
{
    if (controller->status.stopping)
        return;
    controller->status.stopping = true;
    controller->again = again;
    if (again)
        notifier_reloading(controller->notifier);
    else
        notifier_send(controller->notifier, "STOPPING=1");
    timer_arm(controller->release_timer, RELEASE_MS);
    elector_release(controller->elector, on_released);
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    struct controller *controller = context;
    (void)source, (void)info;
    controller->again = false; /* also if it was ending in order to restart */
    begin_end(controller, false);
    return 0;
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    struct controller *controller = context;
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(controller_config_freep) struct controller_config *fresh = NULL;
    (void)source, (void)info;
    int r = controller_load(controller->config_path, &fresh, &faults);
    (void)fault_book_replace(controller->status.faults, "config", "", &faults, clock_wall_ms());
    if (r < 0) {
        log_event(&event_config_refused, LOG_FIELDS({ "OBJECT", controller->config_path }),
                  "%s is refused, the old configuration stays in force", controller->config_path);
        return 0;
    }
    log_notice("%s is good: starting anew", controller->config_path);
    begin_end(controller, true);
    return 0;
}

static int open_loop(struct controller *controller)
{
    int r = sd_event_new(&controller->event);
    if (r >= 0)
        r = notifier_new(controller->event, &controller->notifier);
    if (r >= 0)
        r = notifier_feed_watchdog(controller->notifier, controller->event, ROUND_PRIORITY);
    if (r >= 0)
        r = deferred_new(controller->event, ROUND_PRIORITY, run_round, controller,
                         &controller->round);
    if (r >= 0)
        r = timer_new(controller->event, ROUND_PRIORITY, wake, controller, &controller->timer);
    if (r >= 0)
        r = timer_new(controller->event, SD_EVENT_PRIORITY_NORMAL, give_up_release, controller,
                      &controller->release_timer);
    return r < 0 ? r : signals_add(controller->event, on_end, on_reload, controller);
}

static struct controller *make_controller(const char *config_path, struct controller_config *config)
{
    CLEANUP(controller_freep) struct controller *controller = calloc(1, sizeof(*controller));
    if (!controller) {
        controller_config_free(config);
        return NULL;
    }
    controller->config = config;
    controller->config_path = strdup(config_path);
    controller->store = store_new();
    controller->status = (struct controller_status){
        .version = FINGERPOST_VERSION,
        .config_path = controller->config_path,
        .started_wall_ms = clock_wall_ms(),
        .started_mono_ms = clock_mono_ms(),
        .source = { .name = "kubernetes" },
        .faults = fault_book_new(),
    };
    if (!controller->config_path || !controller->store || !controller->status.faults)
        return NULL;
    fault_book_watch(controller->status.faults, fault_log, NULL);
    return TAKE_PTR(controller);
}

int controller_new(const char *config_path, struct controller_config *config,
                   struct controller **ret_controller)
{
    static int (*const steps[])(struct controller * controller) = {
        open_loop, open_client, open_elector, open_jobs, open_socket, open_source,
    };
    CLEANUP(controller_freep) struct controller *controller = make_controller(config_path, config);
    if (!controller)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        int r = steps[i](controller);
        if (r < 0) {
            if (r != -EBADMSG) /* that was reported already */
                log_error("cannot start: %s", strerror(-r));
            return r;
        }
    }
    *ret_controller = TAKE_PTR(controller);
    return 0;
}

/* READY does not wait for the API: a follower that can't reach it yet is operational. */
int controller_run(struct controller *controller)
{
    log_event(&event_ready, NULL, "agent-controller %s: %s, Lease %s/%s", FINGERPOST_VERSION,
              controller->status.election.identity, controller->config->election.namespace,
              controller->config->election.name);
    notifier_send(controller->notifier, "READY=1");
    tell_manager(controller);
    int r = sd_event_loop(controller->event);
    if (r < 0)
        log_error("the event loop failed: %s", strerror(-r));
    log_event(&event_stopped, NULL, "stopped");
    return r < 0 ? r : controller->again;
}

void controller_free(struct controller *controller)
{
    if (!controller)
        return;
    kube_source_free(controller->source);
    controller_socket_free(controller->socket);
    jobs_close(controller->jobs);
    elector_free(controller->elector);
    kube_client_free(controller->client);
    timer_free(controller->release_timer);
    timer_free(controller->timer);
    deferred_free(controller->round);
    store_free(controller->store);
    fault_book_free(controller->status.faults);
    notifier_free(controller->notifier);
    sd_event_unref(controller->event);
    controller_config_free(controller->config);
    free(controller->config_path);
    free(controller);
}
