// SPDX-License-Identifier: Apache-2.0
/*
 * The tasks of one kind: list, watch, and what follows a failure; made and owned by kube.c.
 *
 *     LIST ----complete----> WATCH ----its time is over----> WATCH
 *       ^                      |
 *       |  410, or the API     |  anything else
 *       |  has gone back       v
 *       '------- CHECK <--- (wait)
 *
 * A watch is resumed where it ended. Before that happens after a failure, or a silence longer than
 * bookmarks should allow, the API is asked for this node's own Node, which is very cheap for it:
 * the version of the answer shows whether etcd was restored from an older backup. A watch from a
 * version in the future would stay silent.
 *
 * Success is a watch that lasts for some seconds. Until then failures count, and the pauses between
 * attempts grow; the second failure is a fault. So a server that refuses each watch after a good
 * list is asked as rarely as an unreachable one. A watch with many events, each newer than all
 * before, counts as success, too: where objects change by the thousand, the API server closes the
 * watches of slow clients, and a long pause would make this node fall further behind. Pauses grow
 * all the same, up to two seconds, and many in a row are reported: a server that replays events
 * with ever newer versions would be asked hundreds of times in a second.
 *
 * After an outage the API refuses requests for a moment, since it has not loaded the roles: pauses
 * that have grown before do not apply then.
 *
 * Each wait has a limit: for the head of an answer, and for the next element, however slowly its
 * bytes arrive.
 */
#include "source/reflector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/kube/kube_refusal.h"
#include "loop/timer.h"
#include "source/kube_version.h"

enum {
    ABSENCES_MEANT = 3,   /* failed checks until the known objects of a kind are removed */
    LOOKS_OF_NEED = 6,    /* checks in place of one, while a kind is missed */
    BURST = 10,           /* events: the API closes a watch that is this far behind */
    LONG_PAUSE_MS = 5000, /* requested by the API: reported even at the first failure */
};

const struct kube_timing kube_timing_default = {
    .retry_initial_ms = SECOND_MS,
    .retry_max_ms = 30 * SECOND_MS,
    .absent_ms = MINUTE_MS,
    .answer_ms = MINUTE_MS,
    .list_ms = 10 * MINUTE_MS,
    .silence_ms = 150 * SECOND_MS, /* bookmarks come about once a minute */
    .watch_min_ms = 5 * MINUTE_MS,
    .watch_max_ms = 10 * MINUTE_MS,
    .steady_ms = 5 * SECOND_MS,
    .burst_initial_ms = 50,
    .burst_max_ms = 2 * SECOND_MS,
    .pulse_ms = 10 * SECOND_MS,
    .pulse_limit_ms = 5 * SECOND_MS,
    .list_max = 1 << 20,
};

static void start_task(struct reflector *reflector, enum reflector_task task);

static void succeed(struct reflector *reflector)
{
    reflector->failures = 0;
    reflector->unreachable = reflector->long_pause = false;
    reflector->remedy = NULL;
    backoff_reset(&reflector->backoff);
    reflector->status->error[0] = '\0';
    reflector->status->error_wall_ms = 0;
    if (reflector->deaf)
        silence_tell(reflector);
    reflector->changed(reflector->context);
}

/* Reports the error and its remedy, and schedules a retry. */
static void fail_with_remedy(struct reflector *reflector, const char *why, const char *remedy)
{
    struct kube_kind_status *status = reflector->status;
    reflector->remedy = remedy;
    if (reflector->failures++ == 0)
        status->error_wall_ms = clock_wall_ms();
    (void)snprintf(status->error, sizeof(status->error), "%s", why);
    kube_refusal_clean(status->error);
    status->state = KUBE_WAITING;
    if (reflector->unreachable && reflector->http_status != 0)
        backoff_reset(&reflector->backoff);
    reflector->unreachable = reflector->http_status == 0;
    free(TAKE_PTR(reflector->continuation));
    kube_objects_drop_held(&reflector->objects);
    reflector->long_pause |= reflector->retry_after_ms > LONG_PAUSE_MS;
    timer_arm(reflector->retry, reflector->retry_after_ms + backoff_next(&reflector->backoff));
    reflector->changed(reflector->context);
}

/* The remedy where a file or value of the kubeconfig made a request fail. */
static const char *remedy_of_file(int error)
{
    return error == -ENOMEM
               ? NULL
               : "see that the file is there, that agentd's user may read it, and that "
                 "the kubeconfig means this one";
}

static const char ended_early[] = "the watch ended too soon";

/* For an answer that no API sends: a proxy's page, or another program on the API's port. */
static const char *remedy_of_answer(const char *why)
{
    if (strcmp(why, ended_early) == 0)
        return "see what stands before the API and closes connections: the time limit of a proxy "
               "or balancer has to be longer than a watch, which lasts ten minutes";
    if (strstr(why, "tells of version"))
        return "see that all API servers behind server: of the kubeconfig have one etcd, and that "
               "nothing before them answers from a cache; it is tried again by itself";
    return strstr(why, "is no ") || strstr(why, "is about a ") || strstr(why, "is more than")
               ? "ask who it is that answers, as a proxy or a page to log in "
                 "may do: curl -k SERVER/version, with server: of the kubeconfig"
               : "it is tried again by itself; if it stays, see the journal of kube-apiserver";
}

static void fail(struct reflector *reflector, const char *why)
{
    fail_with_remedy(reflector, why, remedy_of_answer(why));
}

/* Events can't show that a problem of an unidentified object is over. */
static void go_on(struct reflector *reflector)
{
    bool list = reflector->relist || kube_objects_nameless(&reflector->objects);
    start_task(reflector, list ? TASK_LIST : TASK_WATCH);
}

static void start_next(struct reflector *reflector)
{
    if (!*reflector->version || (reflector->relist && !reflector->doubted))
        start_task(reflector, TASK_LIST);
    else if (reflector->failures)
        start_task(reflector, TASK_CHECK);
    else
        go_on(reflector);
}

static void on_retry(void *context)
{
    start_next(context);
}

static void on_steady(void *context)
{
    struct reflector *reflector = context;
    const bool told = reflector_fails(reflector);
    reflector->steady = true;
    reflector->fresh = false;
    reflector->bursts = 0;
    backoff_reset(&reflector->burst_backoff);
    if (reflector->failures || (told && !reflector->deaf))
        succeed(reflector);
}

/* True if the kind is needed, or was served before: it may be served again at any moment. */
static bool is_missed(const struct reflector *reflector)
{
    bool had = reflector->status->lists > 0 &&
               reflector->absences < (unsigned)ABSENCES_MEANT * LOOKS_OF_NEED;
    return reflector->needed || had;
}

/* The kind is not served. The removal of a CRD is accepted only after a while. */
static void be_absent(struct reflector *reflector)
{
    static const struct key_set none;
    const int64_t looks = is_missed(reflector) ? LOOKS_OF_NEED : 1;
    reflector->version[0] = '\0';
    reflector->list_mode = LIST_CACHED;
    if (++reflector->absences >= ABSENCES_MEANT * looks) {
        kube_objects_begin_list(&reflector->objects);
        (void)kube_objects_end_list(&reflector->objects, &none); /* without memory: next time */
    }
    reflector->status->state = KUBE_ABSENT;
    reflector->status->synced = true;
    succeed(reflector);
    const int64_t pause_ms = reflector->timing->absent_ms / looks;
    struct backoff pause = { .initial_ms = pause_ms, .max_ms = pause_ms };
    timer_arm(reflector->retry, backoff_next(&pause));
}

/*
 * The known version is too old to resume from: a list is next, at once. If even a version that was
 * listed just now is too old, that is a failure.
 */
static void expire(struct reflector *reflector, const char *why)
{
    reflector->relist = true;
    if (reflector->fresh)
        fail(reflector, why);
    else
        start_task(reflector, TASK_LIST);
}

/* A kind that every API of a recent release has. */
static const char not_served[] =
    "see whether it is the API at all (server: of the kubeconfig), and not older than Kubernetes "
    "1.21, which serves all that is asked for: kubectl version";

/* A list shows the same: from etcd, if the API server's cache was older. */
static void go_without_check(struct reflector *reflector)
{
    reflector->back = true;
    if (reflector->doubted)
        reflector->list_mode = LIST_CONSISTENT;
    reflector->doubted = false;
    start_task(reflector, TASK_LIST);
}

static void end_refused(struct reflector *reflector)
{
    static const char leave[] =
        "allow get, list and watch of what it asks for: for agents "
        "deploy/kubernetes/rbac.yaml, for controllers controller.yaml there";
    char why[KUBE_ERROR_LEN];
    int status = reflector->http_status;
    bool list = reflector->task == TASK_LIST;
    const char *remedy = kube_refusal_read(status, &reflector->refusal, leave, why);
    if (list && status == 404)
        remedy = not_served;
    if (list && status == 404 && reflector->resource->optional) {
        be_absent(reflector);
    } else if (list && (status == 410 || status == 504) && reflector->list_mode < LIST_WHOLE) {
        reflector->list_mode++;
        free(TAKE_PTR(reflector->continuation));
        start_task(reflector, TASK_LIST);
    } else if (reflector->task == TASK_CHECK && (status == 403 || status == 404)) {
        go_without_check(reflector);
    } else if (reflector->task == TASK_WATCH && (status == 410 || status == 404)) {
        expire(reflector, why);
    } else {
        fail_with_remedy(reflector, why, remedy);
    }
}

static void end_list(struct reflector *reflector)
{
    if (reflector->continuation) {
        start_task(reflector, TASK_LIST);
        return;
    }
    if (list_end(reflector) < 0) {
        fail(reflector, reflector->trouble);
        return;
    }
    memcpy(reflector->version, reflector->list_version, sizeof(reflector->version));
    silence_listed(reflector);
    reflector->relist = reflector->doubted = reflector->back = false;
    reflector->fresh = true;
    reflector->absences = 0;
    reflector->list_mode = LIST_CACHED;
    reflector->status->lists++;
    reflector->status->synced = true;
    start_task(reflector, TASK_WATCH);
    reflector->changed(reflector->context);
}

static void end_check(struct reflector *reflector)
{
    free(TAKE_PTR(reflector->continuation)); /* the old list has no further pages */
    reflector->doubted = false;
    if (kube_version_is_older(reflector->list_version, reflector->version)) {
        reflector->relist = reflector->back = true;
        reflector->list_mode = LIST_CONSISTENT;
        reflector->status->back_mono_ms = clock_mono_ms();
    }
    silence_checked(reflector);
    go_on(reflector);
}

/* The watch is resumed soon. */
static void end_burst(struct reflector *reflector)
{
    struct kube_kind_status *status = reflector->status;
    reflector->fresh = false;
    if (reflector->failures)
        succeed(reflector);
    if (++reflector->bursts >= REFLECTOR_BURSTS_MANY) {
        (void)snprintf(status->error, sizeof(status->error),
                       "the watch ended in a burst of events, again and again");
        reflector->remedy =
            "see who changes so many of them (kubectl get -A -w), whether "
            "kube-apiserver has too much to do (apiserver_terminated_watchers_total "
            "of its metrics), and what stands before it";
        if (!status->error_wall_ms)
            status->error_wall_ms = clock_wall_ms();
        status->state = KUBE_WAITING;
    }
    timer_arm(reflector->retry, backoff_next(&reflector->burst_backoff));
    reflector->changed(reflector->context);
}

static void end_watch(struct reflector *reflector)
{
    if (reflector->steady)
        go_on(reflector);
    else if (reflector->news >= BURST)
        end_burst(reflector);
    else
        fail(reflector, ended_early);
}

static void begin_watch(struct reflector *reflector)
{
    reflector->status->state = KUBE_WATCHING;
    reflector->status->reconnects += reflector->watched;
    reflector->watched = true;
    timer_arm(reflector->patience, reflector->timing->silence_ms);
    timer_arm(reflector->steady_timer, reflector->timing->steady_ms);
    reflector->changed(reflector->context);
}

static void on_started(void *context, int status, int64_t retry_after_ms)
{
    struct reflector *reflector = context;
    reflector->http_status = status;
    reflector->retry_after_ms = retry_after_ms;
    reflector->reached(reflector->context);
    if (status == 200 && reflector->task == TASK_LIST)
        reflector->status->state = KUBE_LISTING;
    if (status == 200 && reflector->task == TASK_WATCH)
        begin_watch(reflector);
}

static int on_data(void *context, const char *bytes, size_t size)
{
    struct reflector *reflector = context;
    reflector->reached(reflector->context);
    int r = reflector_read(reflector, bytes, size);
    if (r < 0)
        return r;
    if (reflector->task == TASK_WATCH && silence_ends(reflector))
        succeed(reflector);
    return 0;
}

static void on_ended(void *context, const char *error, const char *remedy)
{
    struct reflector *reflector = context;
    reflector->request = NULL;
    timer_disarm(reflector->patience);
    timer_disarm(reflector->steady_timer);
    if (!error && reflector->http_status == 200 && !*reflector->trouble)
        reflector_read_end(reflector);

    if (reflector->expired)
        expire(reflector, reflector->trouble);
    else if (*reflector->trouble)
        fail(reflector, reflector->trouble);
    else if (reflector->http_status != 200 && reflector->http_status != 0)
        end_refused(reflector);
    else if (error)
        fail_with_remedy(reflector, error, remedy);
    else if (reflector->task == TASK_WATCH)
        end_watch(reflector);
    else if (reflector->task == TASK_CHECK)
        end_check(reflector);
    else
        end_list(reflector);
}

/* A watch of objects that rarely change may be silent, as bookmarks are not guaranteed: check. */
static void on_patience_over(void *context)
{
    struct reflector *reflector = context;
    char why[64], ago[CLOCK_STRLEN];
    bool watching = reflector->task == TASK_WATCH && reflector->http_status == 200;
    kube_request_cancel(TAKE_PTR(reflector->request));
    timer_disarm(reflector->steady_timer);
    if (watching) {
        reflector->silent = reflector->elements == 0;
        start_task(reflector, TASK_CHECK);
        return;
    }
    const bool slow = clock_mono_ms() - reflector->list_began_ms >= reflector->timing->list_ms;
    if (slow && reflector->task == TASK_LIST) {
        reflector->long_pause = true; /* there was no answer for that long */
        (void)snprintf(why, sizeof(why), "the list is not complete after %s",
                       clock_ago(reflector->timing->list_ms, ago));
    } else {
        (void)snprintf(why, sizeof(why), "the API says nothing for %s",
                       clock_ago(reflector->timing->answer_ms, ago));
    }
    fail(reflector, why);
}

static const struct kube_handler handler = { on_started, on_data, on_ended };

static char *task_path(struct reflector *reflector)
{
    if (reflector->task == TASK_WATCH)
        return watch_path(reflector);
    return reflector->task == TASK_LIST ? list_path(reflector) : strdup(reflector->check_path);
}

/* Clears the last answer. Returns 0 or -ENOMEM. */
static int clear_answer(struct reflector *reflector)
{
    reflector->http_status = 0;
    reflector->retry_after_ms = 0;
    reflector->trouble[0] = '\0';
    reflector->expired = reflector->steady = reflector->headed = reflector->framed = false;
    text_truncate(&reflector->refusal, 0);
    kube_objects_drop_held(&reflector->objects);
    json_splitter_free(reflector->splitter);
    reflector->splitter =
        json_splitter_new("", &reader_limits_default, reflector->task != TASK_WATCH);
    return reflector->splitter ? 0 : -ENOMEM;
}

static void start_task(struct reflector *reflector, enum reflector_task task)
{
    char error[KUBE_ERROR_LEN] = "no memory for a request";
    reflector->task = task;
    if (!reflector->continuation) {
        reflector->pages = reflector->elements = reflector->news = 0;
        reflector->list_began_ms = clock_mono_ms();
    }
    if (task == TASK_LIST && !reflector->continuation)
        list_begin(reflector);
    AUTOFREE char *path = task_path(reflector);
    int r = path ? clear_answer(reflector) : -ENOMEM;
    if (r >= 0)
        r = kube_client_get(reflector->client, path, &handler, reflector, &reflector->request,
                            error);
    if (r < 0) {
        fail_with_remedy(reflector, error, remedy_of_file(r));
        return;
    }
    const bool list = task != TASK_WATCH;
    timer_arm(reflector->patience,
              list ? reflector_patience_ms(reflector) : reflector->timing->answer_ms);
}

int reflector_start(struct reflector *reflector, sd_event *event, struct store *store,
                    const struct kube_asker *asker)
{
    kube_objects_init(&reflector->objects, store, reflector->resource->kind);
    reflector->backoff = (struct backoff){ .initial_ms = reflector->timing->retry_initial_ms,
                                           .max_ms = reflector->timing->retry_max_ms };
    reflector->burst_backoff = (struct backoff){ .initial_ms = reflector->timing->burst_initial_ms,
                                                 .max_ms = reflector->timing->burst_max_ms };
    reflector->path = kube_resource_path(reflector->resource, asker);
    reflector->check_path = kube_resource_node_path(asker->node);
    if (!reflector->path || !reflector->check_path)
        return -ENOMEM;
    *reflector->status = (struct kube_kind_status){ .kind = kind_name(reflector->resource->kind) };

    const int64_t priority = SD_EVENT_PRIORITY_NORMAL;
    int r = timer_new(event, priority, on_patience_over, reflector, &reflector->patience);
    if (r < 0)
        return r;
    r = timer_new(event, priority, on_steady, reflector, &reflector->steady_timer);
    if (r < 0)
        return r;
    r = timer_new(event, priority, on_retry, reflector, &reflector->retry);
    if (r < 0)
        return r;
    timer_arm(reflector->retry, 0);
    return 0;
}

void reflector_hurry(struct reflector *reflector)
{
    if (!reflector->request && reflector->unreachable)
        timer_arm(reflector->retry, 0);
}

void reflector_done(struct reflector *reflector)
{
    kube_request_cancel(reflector->request);
    timer_free(reflector->patience);
    timer_free(reflector->steady_timer);
    timer_free(reflector->retry);
    json_splitter_free(reflector->splitter);
    kube_objects_done(&reflector->objects);
    key_set_done(&reflector->named);
    text_done(&reflector->refusal);
    free(reflector->continuation);
    free(reflector->check_path);
    free(reflector->path);
}
