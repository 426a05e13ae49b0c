// SPDX-License-Identifier: Apache-2.0
/*
 * Events about refused Services; see export_events.h. Owned by controller/export/export_job.c.
 *
 * The name of an Event has a hash of its cause and of the Service's uid: a second create has no
 * effect, and needs no read, and a Service that was recreated under its name gets a new Event.
 * Causes with an Event are remembered for as long as this process runs and the cause holds, so that
 * a new plan creates no Event twice. An Event that can't be written after some tries is dropped:
 * the fault is in the controller's list of faults in any case.
 */
#include "controller/export/export_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/siphash.h"
#include "client/kube/kube_event.h"
#include "controller/job_writer.h"

enum { TRIES_MAX = 6, NAME_PART_MAX = 200, NOTE_MAX = 1000 };

/* A few at once, and few in a second: they are for people. */
static const struct kube_writer_limits limits = {
    .queue = {
        .keys = 256,
        .parallel = 2,
        .per_second = 5,
        .burst = 25,
        .initial_ms = SECOND_MS,
        .max_ms = MINUTE_MS,
    },
    .answer_ms = MINUTE_MS / 2,
};

struct export_events {
    const struct board *board;
    struct job_writer *writer;
    const struct export_plan *plan; /* borrowed; NULL: nothing is wanted */
    VEC(char *) told;               /* keys, "namespace/name" of the Event */
};

/* "namespace/service.0123456789abcdef", in memory that the caller frees; NULL: no memory. */
static char *key_of(const struct export_refusal *refusal)
{
    static const uint8_t seed[16] = "exports";
    AUTOFREE char *cause = text_format("%s\n%s", refusal->uid, refusal->message);
    return cause ? text_format("%s/%.*s.%016" PRIx64, refusal->namespace, NAME_PART_MAX,
                               refusal->name, siphash(cause, strlen(cause), seed))
                 : NULL;
}

static const struct export_refusal *refusal_of(const struct export_events *events, const char *key)
{
    if (!events->plan)
        return NULL;
    vec_each(const struct export_refusal, refusal, &events->plan->refusals) {
        AUTOFREE char *own = key_of(refusal);
        if (own && strcmp(own, key) == 0)
            return refusal;
    }
    return NULL;
}

static void write_body(const struct export_events *events, const char *name,
                       const struct export_refusal *refusal, struct text *body)
{
    AUTOTEXT struct text note = { 0 };
    text_addf(&note, "%.*s: %.*s", NOTE_MAX / 2, refusal->message, NOTE_MAX / 2 - 2,
              refusal->remedy);
    body->failed |= text_error(&note) < 0;
    const struct kube_event event = {
        .namespace = refusal->namespace,
        .name = name,
        .subject = { "v1", "Service", refusal->name, refusal->uid },
        .reason = "ExportRefused",
        .action = "Exporting",
        .note = text_str(&note),
        .controller = "fingerpost.io/agent-controller",
        .instance = events->board->config->election.identity,
    };
    const int64_t now_wall_ms = clock_wall_ms();
    kube_event_write(&event, now_wall_ms, body);
}

static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    const struct export_events *events = context;
    const struct export_refusal *refusal = refusal_of(events, key);
    if (!refusal)
        return 0;
    const char *name = strchr(key, '/') + 1;
    write_body(events, name, refusal, body);
    *write = kube_event_create(refusal->namespace, name);
    return 1;
}

static bool told(void *context, const char *key, const struct kube_told *told)
{
    (void)context, (void)key;
    enum kube_outcome outcome = told->result.outcome;
    bool over = outcome == KUBE_DONE || outcome == KUBE_EXISTS || outcome == KUBE_MISSING;
    return !over && told->tries < TRIES_MAX;
}

int export_events_new(const struct board *board, struct export_events **ret_events)
{
    CLEANUP(export_events_freep) struct export_events *events = calloc(1, sizeof(*events));
    if (!events)
        return -ENOMEM;
    events->board = board;
    const struct job_writer_options options = {
        .board = board,
        .limits = &limits,
        .make = make,
        .told = told,
        .context = events,
    };
    int r = job_writer_new(&options, &events->writer);
    if (r < 0)
        return r;
    *ret_events = TAKE_PTR(events);
    return 0;
}

static void forget(struct export_events *events)
{
    vec_each(char *, key, &events->told)
        free(*key);
    vec_clear(&events->told);
}

void export_events_free(struct export_events *events)
{
    if (!events)
        return;
    job_writer_free(events->writer);
    forget(events);
    vec_done(&events->told);
    free(events);
}

/* The next leader does not know which Events exist; the API does. */
void export_events_lead(struct export_events *events, bool leading)
{
    forget(events);
    events->plan = NULL;
    job_writer_lead(events->writer, leading);
}

static bool is_told(const struct export_events *events, const char *key)
{
    vec_each(char *, other, &events->told) {
        if (strcmp(*other, key) == 0)
            return true;
    }
    return false;
}

static void forget_what_has_ended(struct export_events *events)
{
    size_t kept = 0;
    for (size_t i = 0; i < events->told.count; i++) {
        char *key = events->told.items[i];
        if (refusal_of(events, key))
            events->told.items[kept++] = key;
        else
            free(key);
    }
    events->told.count = kept;
}

/* If there are more causes than the queue holds, the others follow as its keys are done. */
int export_events_want(struct export_events *events, const struct export_plan *plan)
{
    events->plan = plan;
    forget_what_has_ended(events);
    vec_each(const struct export_refusal, refusal, &plan->refusals) {
        if (!*refusal->uid || events->told.count >= (size_t)limits.queue.keys)
            continue;
        AUTOFREE char *key = key_of(refusal);
        if (!key)
            return -ENOMEM;
        if (is_told(events, key))
            continue;
        int r = job_writer_add(events->writer, key);
        if (r < 0)
            return r == -ENOBUFS ? 0 : r;
        r = vec_push(&events->told, key);
        if (r < 0)
            return r;
        (void)TAKE_PTR(key);
    }
    return 0;
}

void export_events_publish(const struct export_events *events, struct write_status *status)
{
    job_writer_publish(events->writer, status);
}
