// SPDX-License-Identifier: Apache-2.0
/*
 * Consul's KV as a target of exports; see export_target.h. Made by controller/export/export_job.c.
 *
 * While this controller leads, it holds the lock that kube-service-exporter holds, too
 * (PREFIX/leadership/CLUSTER-leader), and a blocking query waits for changes below the prefix: an
 * edit by others is answered at once, and no request goes out while nothing changes but the
 * renewals of the lock's session.
 *
 * What is to be written goes into transactions. Each checks that the lock is held, and each key
 * that it is as it was read (check-and-set): a controller that was frozen and wakes up as the old
 * leader writes nothing. The blocking query is ended while writes are under way, since each of them
 * would answer it with everything. Whether they succeeded or not, everything is read again at the
 * end; the job compares it with its plan, and so sees to what is left.
 *
 * One transaction is refused as a whole. After a failure what is queued is dropped, and after a
 * while, longer each time, what is there is read again and planned anew.
 *
 * This file is long because reading, writing and the lock decide together what is told and what is
 * asked for next.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/consul/consul.h"
#include "client/consul/consul_kv.h"
#include "client/consul/consul_lock.h"
#include "controller/export/export_entries.h"
#include "controller/export/export_queue.h"
#include "controller/export/export_target.h"
#include "loop/backoff.h"
#include "loop/timer.h"

enum {
    PRIORITY = 50,
    READ_MS = 30 * 1000, /* beyond the time of a blocking query */
    SPACE_MS = 200,      /* between two reads at least */
    WRITE_MS = 60 * 1000,
    WRITES = 4, /* transactions under way at once */
};
#define READ_BYTES ((size_t)512 << 20) /* of all clusters below the prefix */

struct writing {
    struct consul_export *target; /* NULL: this one is idle */
    struct consul_request *request;
    struct export_taken taken;
    int64_t sent_ms;
};

struct consul_export {
    struct export_target base;
    const struct board *board;
    const struct export_config *config;
    struct consul_client *client;
    struct consul_lock *lock;
    char *lock_key;
    struct timer *timer; /* when to read next */
    struct backoff backoff;
    bool leading;

    struct consul_request *read;
    struct consul_reader *reader;
    struct export_store coming, there; /* what is being read; what was read */
    bool known, seen; /* `there` is current; it was while this controller has led */
    uint64_t index;   /* of the last read; 0: read at once */
    int64_t asked_ms; /* when the query was sent */
    int64_t came_ms;  /* when the answer began to arrive; 0: it did not */

    struct export_queue queue; /* what is being written; empty: nothing */
    size_t under_way;
    struct writing writings[WRITES];
    bool failed;                  /* the rest of the queue is not sent */
    bool apart;                   /* a key was denied: each op has a transaction of its own */
    bool denied;                  /* a key of this queue was */
    char refused[EXPORT_WHY_MAX]; /* why the last write failed; "": it did not */
    const char *refused_remedy;
    int64_t retry_after_ms;
    struct export_target_status status;
};

static void set_error(struct consul_export *target, const char *error, const char *remedy)
{
    struct export_target_status *status = &target->status;
    (void)snprintf(status->error, sizeof(status->error), "%.*s", (int)sizeof(status->error) - 1,
                   error);
    status->remedy = remedy;
}

/* The reason why nothing is written stays reported while that is so, whatever is read. */
static void refuse(struct consul_export *target, const char *error, const char *remedy)
{
    (void)snprintf(target->refused, sizeof(target->refused), "%.*s",
                   (int)sizeof(target->refused) - 1, error);
    target->refused_remedy = remedy;
    set_error(target, error, remedy);
}

/* Reads succeed: reports what else is wrong. */
static void tell_the_rest(struct consul_export *target)
{
    const char *remedy, *error = consul_lock_error(target->lock, &remedy);
    if (!consul_lock_session(target->lock) && *error)
        set_error(target, error, remedy);
    else
        set_error(target, target->refused, target->refused_remedy);
}

/* ---- Reading ---- */

static int on_entry(void *context, const struct consul_entry *entry)
{
    struct consul_export *target = context;
    const struct export_entry kept = {
        .key = entry->key,
        .value = entry->value,
        .length = entry->length,
        .index = entry->index,
        .written_wall_ms = export_written_wall_ms(entry->flags),
    };
    return export_store_add(&target->coming, &kept);
}

static int on_data(void *context, const char *bytes, size_t size)
{
    struct consul_export *target = context;
    if (!target->came_ms)
        target->came_ms = clock_mono_ms();
    return consul_reader_push(target->reader, bytes, size);
}

static void read_failed(struct consul_export *target, const char *error, const char *remedy,
                        int64_t at_least_ms)
{
    target->status.failures++;
    target->status.kv[EXPORT_GET][EXPORT_METADATA].fail++;
    target->known = false;
    target->index = 0;
    set_error(target, error, remedy);
    timer_arm(target->timer, MAX(backoff_next(&target->backoff), at_least_ms));
    target->board->wake(target->board->context);
}

/*
 * A lower index is of another history, as after a snapshot was restored: the next read has no
 * index. Consul answers only at the end of the query's time, since it waits for a higher one.
 */
static uint64_t next_index(const struct consul_export *target, uint64_t index)
{
    return index < target->index ? 0 : index;
}

static void take_what_came(struct consul_export *target)
{
    struct export_store old = target->there;
    export_store_sort(&target->coming);
    target->there = target->coming;
    target->coming = old;
    target->known = target->seen = true;
    target->status.keys = target->there.entries.count;
    tell_the_rest(target);
}

/* Other clients may change entries all the time: reading takes at most a fifth of the time. */
static int64_t space_ms(const struct consul_export *target)
{
    int64_t took_ms = target->came_ms ? clock_mono_ms() - target->came_ms : 0;
    return MAX((int64_t)SPACE_MS, 4 * took_ms);
}

static void on_read(void *context, const struct consul_answer *answer)
{
    struct consul_export *target = context;
    target->read = NULL;
    bool complete = answer->status == 404 || consul_reader_is_complete(target->reader);
    if (answer->error) {
        read_failed(target, answer->error, answer->remedy, answer->retry_after_ms);
    } else if (answer->filtered) {
        read_failed(target, "the token may not read all that is below the prefix",
                    "give the token of consul.tokenFile the policy that docs/export.md shows", 0);
    } else if (!complete) {
        read_failed(target, "the answer is no list of keys",
                    "ask who it is that answers at consul.address", 0);
    } else {
        take_what_came(target);
        /* The duration of a blocking query counts from when its answer began to arrive. */
        export_target_read(&target->status, target->index ? target->came_ms : target->asked_ms);
        target->index = next_index(target, answer->index);
        timer_arm(target->timer, space_ms(target));
        target->board->wake(target->board->context);
    }
}

static const struct consul_handler reading = { .data = on_data, .done = on_read };

static int begin_read(struct consul_export *target)
{
    AUTOTEXT struct text path = { 0 };
    consul_reader_free(target->reader);
    target->reader = consul_reader_new(on_entry, target);
    target->came_ms = 0;
    target->asked_ms = clock_mono_ms();
    int r = export_store_clear(&target->coming);
    text_addf(&path, "/v1/kv/%s/?recurse", target->config->prefix);
    if (target->index)
        text_addf(&path, "&index=%" PRIu64 "&wait=%" PRId64 "ms", target->index,
                  target->config->wait_ms);
    if (r < 0 || !target->reader || text_error(&path) < 0)
        return -ENOMEM;
    const struct consul_call call = {
        .path = text_str(&path),
        /* Consul adds up to a sixteenth. */
        .limit_ms = target->config->wait_ms + target->config->wait_ms / 16 + READ_MS,
        .answer_bytes = READ_BYTES,
    };
    return consul_send(target->client, &call, &reading, target, &target->read);
}

static void on_time(void *context)
{
    struct consul_export *target = context;
    if (!target->leading || target->read || target->queue.ops.count)
        return;
    char why[CONSUL_ERROR_LEN];
    int r = begin_read(target);
    if (r < 0) {
        const char *remedy = consul_send_failure(target->client, r, why);
        read_failed(target, why, remedy, 0);
    }
}

static void end_read(struct consul_export *target)
{
    consul_cancel(TAKE_PTR(target->read));
    timer_disarm(target->timer);
}

/* ---- Writing ---- */

static void pump(struct consul_export *target);

static void forget_ops(struct consul_export *target)
{
    export_queue_clear(&target->queue);
    target->failed = target->denied = false;
}

/* All transactions are answered, or will not be sent: reads the entries again. */
static void end_write(struct consul_export *target)
{
    int64_t delay_ms = 0;
    if (target->failed || target->denied) {
        delay_ms = MAX(backoff_next(&target->backoff), target->retry_after_ms);
    } else {
        backoff_reset(&target->backoff);
        target->apart = false;
        refuse(target, "", NULL);
    }
    forget_ops(target);
    target->known = false;
    target->index = 0;
    target->retry_after_ms = 0;
    timer_arm(target->timer, delay_ms);
    target->board->wake(target->board->context);
}

/* The token lacks a right, at least to one key: the other keys are still written, one by one. */
static void note_denied(struct consul_export *target, const char *why)
{
    target->failed = !target->apart;
    target->apart = target->denied = true;
    refuse(target, why, "give the token of consul.tokenFile the policy that docs/export.md shows");
}

static void note_conflict(struct consul_export *target, const struct consul_answer *answer)
{
    AUTOTEXT struct text why = { 0 };
    consul_txn_reason(answer->body, answer->size, &why);
    if (strstr(text_str(&why), "Permission denied")) {
        note_denied(target, text_str(&why));
        return;
    }
    target->failed = true;
    target->status.conflicts++;
    if (strstr(text_str(&why), "session") || strstr(text_str(&why), "lock"))
        consul_lock_invalidate(target->lock);
    set_error(target, text_str(&why),
              "it is read and written anew; if it stays, see who else writes below consul.prefix");
}

/* The outcome of each op of a transaction, which succeeds or fails as a whole. */
static void count_writes(struct consul_export *target, const struct writing *writing, bool done)
{
    struct export_target_status *status = &target->status;
    const struct export_op *ops = target->queue.ops.items;
    const struct export_taken *taken = &writing->taken;
    uint64_t took_ms = (uint64_t)(clock_mono_ms() - writing->sent_ms);
    status->requests++;
    status->request_ms += took_ms;
    export_target_time(status, ops + taken->begin, taken->end - taken->begin, took_ms);
    for (size_t i = taken->begin; i < taken->end; i++)
        export_target_tell(&target->base, status, &ops[i], done);
    if (!done)
        return;
    status->written += taken->ops - taken->removals;
    status->removed += taken->removals;
    status->created += taken->creations;
    status->changed_wall_ms = clock_wall_ms();
}

static void write_failed(struct consul_export *target, const struct consul_answer *answer)
{
    target->retry_after_ms = MAX(target->retry_after_ms, answer->retry_after_ms);
    if (answer->status == 409) {
        note_conflict(target, answer);
        return;
    }
    target->failed = true;
    target->status.failures++;
    refuse(target, answer->error ? answer->error : "an answer that Consul does not give",
           answer->remedy);
}

static void on_written(void *context, const struct consul_answer *answer)
{
    struct writing *writing = context;
    struct consul_export *target = writing->target;
    bool done = !answer->error && answer->status == 200;
    *writing = (struct writing){ .taken = writing->taken, .sent_ms = writing->sent_ms };
    target->under_way--;
    count_writes(target, writing, done);
    if (!done)
        write_failed(target, answer);
    pump(target);
}

static const struct consul_handler handler = { .done = on_written };

static int send_some(struct consul_export *target, struct writing *writing)
{
    struct consul_txn txn = { 0 };
    *writing = (struct writing){ .target = target, .sent_ms = clock_mono_ms() };
    consul_txn_check_session(&txn, target->lock_key, consul_lock_session(target->lock));
    const int64_t now_wall_ms = clock_wall_ms();
    writing->taken = export_queue_take(&target->queue, &txn, target->apart, now_wall_ms);
    const struct consul_call call = {
        .method = "PUT",
        .path = "/v1/txn?",
        .body = consul_txn_end(&txn),
        .limit_ms = WRITE_MS,
        .answer_bytes = CONSUL_TXN_BYTES * 4,
    };
    int r = call.body ? consul_send(target->client, &call, &handler, writing, &writing->request)
                      : -ENOMEM;
    consul_txn_done(&txn);
    if (r < 0)
        writing->target = NULL;
    else
        target->under_way++;
    return r;
}

static bool may_send(const struct consul_export *target)
{
    return !target->failed && target->leading && board_may_write(target->board) &&
           consul_lock_session(target->lock);
}

static void pump(struct consul_export *target)
{
    for (size_t i = 0; i < WRITES && export_queue_waits(&target->queue) && may_send(target); i++) {
        if (target->writings[i].target)
            continue;
        int r = send_some(target, &target->writings[i]);
        if (r < 0) {
            char why[CONSUL_ERROR_LEN];
            const char *remedy = consul_send_failure(target->client, r, why);
            target->failed = true;
            refuse(target, why, remedy);
        }
    }
    if (target->under_way == 0 && target->queue.ops.count > 0)
        end_write(target);
}

static int write_ops(struct export_target *base, const struct export_diff *diff)
{
    struct consul_export *target = (struct consul_export *)base;
    forget_ops(target);
    if (diff->ops.count == 0) {
        refuse(target, "", NULL);
        return 0;
    }
    int r = export_queue_fill(&target->queue, diff);
    if (r < 0)
        return r;
    end_read(target);
    pump(target);
    return 0;
}

/* ---- The table ---- */

static void on_lock(void *context)
{
    struct consul_export *target = context;
    const char *remedy, *error = consul_lock_error(target->lock, &remedy);
    if (target->known || *error)
        tell_the_rest(target);
    target->board->wake(target->board->context);
}

static void lead(struct export_target *base, bool leading)
{
    struct consul_export *target = (struct consul_export *)base;
    target->leading = leading;
    consul_lock_strive(target->lock, leading);
    end_read(target);
    for (size_t i = 0; i < WRITES; i++) {
        if (target->writings[i].target)
            consul_cancel(target->writings[i].request);
        target->writings[i] = (struct writing){ 0 };
    }
    target->under_way = 0;
    forget_ops(target);
    target->known = target->seen = false;
    target->index = 0;
    target->apart = false;
    refuse(target, "", NULL);
    backoff_reset(&target->backoff);
    if (leading)
        timer_arm(target->timer, 0);
}

static const export_entries *have(const struct export_target *base)
{
    const struct consul_export *target = (const struct consul_export *)base;
    bool ready = target->known && target->queue.ops.count == 0 && consul_lock_session(target->lock);
    return ready ? &target->there.entries : NULL;
}

static const export_entries *seen(const struct export_target *base)
{
    const struct consul_export *target = (const struct consul_export *)base;
    return target->seen ? &target->there.entries : NULL;
}

static const struct export_target_status *tell(const struct export_target *base)
{
    struct consul_export *target = (struct consul_export *)base;
    export_target_lock(&target->status, consul_lock_counts(target->lock));
    target->status.known = target->known;
    target->status.locked = consul_lock_session(target->lock) != NULL;
    target->status.pending = target->queue.ops.count - target->queue.next;
    return &target->status;
}

static bool is_ending(const struct export_target *base)
{
    return consul_lock_is_ending(((const struct consul_export *)base)->lock);
}

static void consul_export_free(struct export_target *base)
{
    struct consul_export *target = (struct consul_export *)base;
    if (!target)
        return;
    consul_cancel(target->read);
    for (size_t i = 0; i < WRITES; i++)
        consul_cancel(target->writings[i].target ? target->writings[i].request : NULL);
    consul_lock_free(target->lock);
    consul_client_free(target->client);
    consul_reader_free(target->reader);
    export_store_done(&target->coming);
    export_store_done(&target->there);
    timer_free(target->timer);
    export_queue_done(&target->queue);
    free(target->lock_key);
    free(target);
}

static const struct export_target_ops ops = {
    .lead = lead,
    .have = have,
    .seen = seen,
    .write = write_ops,
    .status = tell,
    .ending = is_ending,
    .free = consul_export_free,
};

static int open_lock(struct consul_export *target)
{
    const struct export_config *config = target->config;
    target->lock_key = text_format("%s/leadership/%s-leader", config->prefix, config->cluster);
    if (!target->lock_key)
        return -ENOMEM;
    const struct consul_lock_options options = {
        .event = target->board->event,
        .client = target->client,
        .key = target->lock_key,
        .identity = config->identity ? config->identity : target->board->config->election.identity,
        .ttl_ms = config->session_ms,
        .priority = PRIORITY,
        .changed = on_lock,
        .context = target,
    };
    return consul_lock_new(&options, &target->lock);
}

static void target_freep(struct consul_export **target)
{
    if (*target)
        consul_export_free(&(*target)->base);
}

int export_consul_new(const struct board *board, struct export_target **ret_target)
{
    CLEANUP(target_freep) struct consul_export *target = calloc(1, sizeof(*target));
    if (!target)
        return -ENOMEM;
    target->base.ops = &ops;
    target->board = board;
    target->config = &board->config->exports;
    target->backoff = (struct backoff){ .initial_ms = SECOND_MS, .max_ms = 30 * SECOND_MS };
    int r = export_store_init(&target->coming, target->config);
    if (r < 0)
        return r;
    r = export_store_init(&target->there, target->config);
    if (r < 0)
        return r;
    r = timer_new(board->event, PRIORITY, on_time, target, &target->timer);
    if (r < 0)
        return r;
    r = consul_client_new(board->event, &target->config->consul, &target->client);
    if (r < 0)
        return r;
    r = open_lock(target);
    if (r < 0)
        return r;
    *ret_target = &TAKE_PTR(target)->base;
    return 0;
}
