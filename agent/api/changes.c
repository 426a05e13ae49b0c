// SPDX-License-Identifier: Apache-2.0
/*
 * Answers that wait for a change, and streams of changes.
 *
 * What is noted of the agent is summed up by one deferred run, after all passes that are due: it
 * looks who has waited for just this, and wakes the streams. A stream is told what is so when its
 * client reads, and not what has been: for each client there is room for one line, which is made
 * anew only when the last one is through. A slow reader thus gets the newest state, and no queue
 * grows. Streams are woken ten times a second at most, since passes may be many more.
 *
 * The lines are JSON documents of one line each, as `agentctl --watch --json` prints them: whoever
 * reads one of our documents can read the next one, with jq or with a few lines of any language.
 * (Server-sent events would wrap the same documents for browsers, which do not speak to unix
 * sockets.) A line carries a number that rises with each change. The same number again after five
 * seconds is the heartbeat: who hears none for long knows that the agent hangs.
 */
#include "api/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/document.h"
#include "api/reply.h"
#include "base/macro.h"
#include "format/json.h"
#include "loop/deferred.h"
#include "loop/timer.h"

/* Behind passes (engine/schedule.h), so that all that is due is one change. */
enum { CHANGES_PRIORITY = SD_EVENT_PRIORITY_NORMAL + 20, REST_MS = 100 };

struct waiter {
    TAILQ_ENTRY(waiter) link;
    struct api_changes *changes;
    struct http_exchange *exchange;
    uint64_t generation;
};

struct stream {
    TAILQ_ENTRY(stream) link;
    struct api_changes *changes;
    struct http_exchange *exchange;
    struct text line; /* what is being sent */
    size_t sent;      /* bytes of it */
    uint64_t told;    /* the change that the line tells of */
    bool due;         /* a line, even without a change */
};

struct api_changes {
    struct api_changes_options options;
    struct deferred *deferred;
    struct timer *heartbeat, *rest;
    bool resting;
    uint64_t count; /* changes since the start */
    TAILQ_HEAD(, waiter) waiters;
    TAILQ_HEAD(, stream) streams;
};

/* ---- those who wait for a change to be applied ---- */

static bool is_applied(const struct status *status, uint64_t generation)
{
    const struct source_status *source = &status->source;
    if (generation > source->observed_generation)
        return true; /* not of this agent: it will not come, or mean something else */
    return source->applied_generation >= generation && status->phase == PHASE_RUNNING &&
           status->routes.complete;
}

static void reply_status(const struct api_changes *changes, struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    if (changes->options.count)
        changes->options.count(changes->options.context);
    view_status(changes->options.state, &out);
    reply_document(reply, 200, &out);
}

static void forget_waiter(struct waiter *waiter)
{
    TAILQ_REMOVE(&waiter->changes->waiters, waiter, link);
    free(waiter);
}

static void on_waiter_ended(enum http_end end, void *context)
{
    (void)end;
    forget_waiter(context);
}

static void answer_waiters(struct api_changes *changes)
{
    struct waiter *waiter, *next;
    for (waiter = TAILQ_FIRST(&changes->waiters); waiter; waiter = next) {
        struct http_reply reply = { 0 };
        next = TAILQ_NEXT(waiter, link);
        if (!is_applied(changes->options.state->status, waiter->generation))
            continue;
        reply_status(changes, &reply);
        http_later_answer(waiter->exchange, &reply);
        forget_waiter(waiter);
    }
}

static void reply_busy(struct http_reply *reply, int error)
{
    if (error == -EBUSY)
        reply_error(reply, 503, "too many wait already");
    else
        reply_error(reply, 500, strerror(-error));
}

void api_changes_await(struct api_changes *changes, const struct http_request *request,
                       uint64_t generation, struct http_reply *reply)
{
    if (is_applied(changes->options.state->status, generation)) {
        reply_status(changes, reply);
        return;
    }
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    int r = waiter ? http_later(request, on_waiter_ended, waiter, &waiter->exchange) : -ENOMEM;
    if (r < 0) {
        free(waiter);
        reply_busy(reply, r);
        return;
    }
    waiter->changes = changes;
    waiter->generation = generation;
    TAILQ_INSERT_TAIL(&changes->waiters, waiter, link);
}

/* ---- streams ---- */

static void write_line(const struct api_changes *changes, struct text *out)
{
    const struct status *status = changes->options.state->status;
    struct json json = view_begin(out, "Change");
    json_int(&json, "change", (int64_t)changes->count);
    json_string(&json, "node", status->node);
    json_time(&json, "startedAt", status->started_wall_ms);
    json_string(&json, "health", view_health(changes->options.state));
    json_int(&json, "faults", (int64_t)fault_book_count(status->faults));
    json_int(&json, "observedGeneration", (int64_t)status->source.observed_generation);
    json_int(&json, "appliedGeneration", (int64_t)status->source.applied_generation);
    view_end(&json);
    text_add_char(out, '\n');
}

/* The next line, if there is one to say. Without memory it is said later. */
static void begin_line(struct stream *stream)
{
    if (!stream->due && stream->told == stream->changes->count)
        return;
    text_truncate(&stream->line, 0);
    stream->sent = 0;
    write_line(stream->changes, &stream->line);
    if (text_error(&stream->line) < 0) {
        text_done(&stream->line);
        return;
    }
    stream->told = stream->changes->count;
    stream->due = false;
}

static size_t on_more(char *buffer, size_t size, void *context)
{
    struct stream *stream = context;
    if (stream->sent == stream->line.length)
        begin_line(stream);
    size = MIN(size, stream->line.length - stream->sent);
    if (size > 0)
        memcpy(buffer, stream->line.data + stream->sent, size);
    stream->sent += size;
    return size;
}

static void on_stream_ended(enum http_end end, void *context)
{
    struct stream *stream = context;
    (void)end;
    TAILQ_REMOVE(&stream->changes->streams, stream, link);
    text_done(&stream->line);
    free(stream);
}

static void wake_streams(struct api_changes *changes)
{
    struct stream *stream;
    TAILQ_FOREACH(stream, &changes->streams, link)
    http_stream_wake(stream->exchange);
}

static void on_heartbeat(void *context)
{
    struct api_changes *changes = context;
    struct stream *stream;
    if (TAILQ_EMPTY(&changes->streams))
        return;
    TAILQ_FOREACH(stream, &changes->streams, link)
    stream->due = true;
    wake_streams(changes);
    timer_arm(changes->heartbeat, CHANGES_HEARTBEAT_MS);
}

void api_changes_stream(struct api_changes *changes, const struct http_request *request,
                        struct http_reply *reply)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    int r = stream ? http_stream(request, "application/x-ndjson", on_more, on_stream_ended, stream,
                                 &stream->exchange)
                   : -ENOMEM;
    if (r < 0) {
        free(stream);
        reply_busy(reply, r);
        return;
    }
    stream->changes = changes;
    stream->due = true; /* what is so now is the first line */
    if (TAILQ_EMPTY(&changes->streams))
        timer_arm(changes->heartbeat, CHANGES_HEARTBEAT_MS);
    TAILQ_INSERT_TAIL(&changes->streams, stream, link);
}

/* ---- what they wait for ---- */

static void tell_streams(struct api_changes *changes)
{
    if (changes->resting || TAILQ_EMPTY(&changes->streams))
        return; /* on_rested() comes back to it */
    wake_streams(changes);
    changes->resting = true;
    timer_arm(changes->rest, REST_MS);
}

static void on_rested(void *context)
{
    struct api_changes *changes = context;
    changes->resting = false;
    wake_streams(changes); /* those without news go on sleeping */
}

static void on_changed(void *context)
{
    struct api_changes *changes = context;
    changes->count++;
    answer_waiters(changes);
    tell_streams(changes);
}

void api_changes_note(struct api_changes *changes)
{
    if (changes)
        deferred_schedule(changes->deferred);
}

int api_changes_new(const struct api_changes_options *options, struct api_changes **ret_changes)
{
    CLEANUP(api_changes_freep) struct api_changes *changes = calloc(1, sizeof(*changes));
    if (!changes)
        return -ENOMEM;
    changes->options = *options;
    TAILQ_INIT(&changes->waiters);
    TAILQ_INIT(&changes->streams);
    int r = deferred_new(options->event, CHANGES_PRIORITY, on_changed, changes, &changes->deferred);
    if (r < 0)
        return r;
    r = timer_new(options->event, CHANGES_PRIORITY, on_heartbeat, changes, &changes->heartbeat);
    if (r < 0)
        return r;
    r = timer_new(options->event, CHANGES_PRIORITY, on_rested, changes, &changes->rest);
    if (r < 0)
        return r;
    *ret_changes = TAKE_PTR(changes);
    return 0;
}

void api_changes_free(struct api_changes *changes)
{
    if (!changes)
        return;
    deferred_free(changes->deferred);
    timer_free(changes->heartbeat);
    timer_free(changes->rest);
    free(changes);
}
