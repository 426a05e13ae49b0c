// SPDX-License-Identifier: Apache-2.0
/*
 * The writer: from a key to an attempt, and from its outcome to the next try; see kube_writer.h.
 * Made by agentd for Events.
 *
 * The state of a key, besides its place in the queue, is a job: it begins with the first try and
 * ends when the key is done or given up, so that keys in the queue cost nothing more. An attempt
 * belongs to the job while it is under way, and for as long as its outcome is uncertain.
 *
 * A key that is added while its write is under way runs again, and `make` then says what is left to
 * do. A state that is not wanted any more needs no write: that is as good as done.
 */
#include "client/kube/kube_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"

enum {
    AWAY_MS = 5 * 1000, /* without any answer: the API counts as unreachable */
    LOOK_MS = 2 * 1000, /* until what was done is checked: a fast API has reported it by then */
    LOOK_ANSWERS = 2,   /* ... plus this many times the duration of the answer: the watch of a slow
                           API is late */
};

const struct kube_writer_limits kube_writer_limits_default = {
    .queue = {
        .keys = 10000,
        .parallel = 8,
        .per_second = 20,
        .burst = 100,
        .initial_ms = 5,
        .max_ms = KUBE_WRITER_PATIENCE_MS,
    },
    .answer_ms = MINUTE_MS,
};

struct job {
    struct kube_writer *writer;
    struct work *work;
    struct kube_attempt *attempt; /* NULL: none is under way or uncertain */
    bool finding;
    int64_t sent_ms; /* monotonic, when the last try began */
    int64_t look_ms; /* monotonic, when what was done is checked; 0: it is not */
    unsigned tries, done;
    enum kube_outcome outcome;
    int64_t since_wall_ms;
    char why[KUBE_ERROR_LEN];
};

struct kube_writer {
    struct kube_writer_options options;
    struct kube_writer_limits limits;
    struct work_queue *queue;
    struct kube_writer_counts counts;
    size_t looking;    /* keys that wait for a check */
    int64_t silent_ms; /* monotonic: since when there is no answer; 0: the last try had one */
};

static void changed(const struct kube_writer *writer)
{
    if (writer->options.changed)
        writer->options.changed(writer->options.context);
}

static void end_look(struct job *job)
{
    job->writer->looking -= job->look_ms > 0;
    job->look_ms = 0;
}

static void job_free(struct job *job)
{
    end_look(job);
    work_set_data(job->work, NULL);
    kube_attempt_free(job->attempt);
    free(job);
}

static void count(struct kube_writer_counts *counts, const struct job *job,
                  enum kube_outcome outcome)
{
    counts->written += outcome == KUBE_DONE;
    counts->found += outcome == KUBE_DONE && job->finding;
    counts->conflicts += outcome == KUBE_CONFLICT;
    counts->refused += outcome == KUBE_REFUSED;
    counts->lost += outcome == KUBE_UNCERTAIN && !job->finding;
    counts->retries += job->tries > 1;
}

/*
 * Keys wait because the API was unreachable: when it answers, all may be written. An answer soon
 * after none proves nothing: a single key may be one that gets none.
 */
static void hear_api(struct kube_writer *writer, const struct kube_result *result)
{
    int64_t now_ms = clock_mono_ms();
    bool answered = result->status != 0;
    bool was_away = writer->silent_ms && now_ms - writer->silent_ms >= AWAY_MS;
    if (answered && was_away)
        work_queue_hurry(writer->queue);
    writer->silent_ms = answered ? 0 : writer->silent_ms ? writer->silent_ms : now_ms;
}

/*
 * Schedules a check of what was done, with growing delays. Returns false where the key runs again
 * anyway.
 */
static bool look_later(struct job *job)
{
    const int64_t now_ms = clock_mono_ms(), late_ms = LOOK_ANSWERS * (now_ms - job->sent_ms);
    const int64_t again_ms = job->done > 5 ? KUBE_WRITER_PATIENCE_MS : LOOK_MS << (job->done - 1);
    const int64_t after_ms = MIN(again_ms + late_ms, KUBE_WRITER_PATIENCE_MS);
    if (!work_look(job->work, after_ms))
        return false;
    job->look_ms = now_ms + after_ms;
    job->writer->looking++;
    return true;
}

/* The outcome of a try: reports it, and ends the key or schedules a retry. */
static void conclude(struct job *job, const struct kube_result *result)
{
    struct kube_writer *writer = job->writer;
    bool news = job->tries == 0 || job->outcome != result->outcome;
    job->tries++;
    job->done += result->outcome == KUBE_DONE;
    job->outcome = result->outcome;
    (void)snprintf(job->why, sizeof(job->why), "%s", result->why);
    count(&writer->counts, job, result->outcome);
    hear_api(writer, result);

    struct work *work = job->work;
    const struct kube_told told = {
        .result = *result,
        .tries = job->tries,
        .done = job->done,
        .news = news,
    };
    bool again = writer->options.told(writer->options.context, work_key(work), &told);
    if (result->outcome != KUBE_UNCERTAIN)
        kube_attempt_free(TAKE_PTR(job->attempt));
    if (again && result->outcome != KUBE_DONE) {
        work_retry(work, result->retry_after_ms);
    } else if (!again || !writer->options.looks || !look_later(job)) {
        job_free(job);
        work_done(work);
    }
    changed(writer);
}

static void on_told(void *context, const struct kube_result *result)
{
    conclude(context, result);
}

/* A try that failed before it was sent. */
static void conclude_here(struct job *job, int r, const char *why)
{
    const struct kube_result result = {
        .outcome = job->finding ? KUBE_UNCERTAIN : KUBE_LATER,
        .why = *why ? why : strerror(-r),
    };
    conclude(job, &result);
}

static void find_out(struct job *job)
{
    char error[KUBE_ERROR_LEN] = "";
    job->finding = true;
    job->sent_ms = clock_mono_ms();
    int r = kube_attempt_find(job->attempt, error);
    if (r < 0)
        conclude_here(job, r, error);
}

/* Makes an attempt and sends it. Returns 1; 0: there is nothing to do; or -errno. */
static int write_now(struct job *job, char error[static KUBE_ERROR_LEN])
{
    const struct kube_writer *writer = job->writer;
    const struct kube_writer_options *options = &writer->options;
    AUTOTEXT struct text body = { 0 };
    struct kube_write write = { 0 };
    int r = options->make(options->context, work_key(job->work), &write, &body);
    if (r <= 0)
        return r;
    if (text_error(&body) < 0)
        return -ENOMEM;
    if (!write.body)
        write.body = text_str(&body);
    r = kube_attempt_new(options->client, &write, writer->limits.answer_ms, on_told, job,
                         &job->attempt);
    if (r < 0)
        return r;
    r = kube_attempt_send(job->attempt, error);
    return r < 0 ? r : 1;
}

static void make_and_write(struct job *job)
{
    char error[KUBE_ERROR_LEN] = "";
    struct work *work = job->work;
    job->finding = false;
    job->sent_ms = clock_mono_ms();
    if (job->look_ms && job->sent_ms < job->look_ms) /* it was added: there is a new state */
        job->tries = job->done = 0;
    end_look(job);
    int r = write_now(job, error);
    if (r < 0) {
        conclude_here(job, r, error);
    } else if (r == 0) {
        job_free(job);
        work_skip(work);
    }
}

static void run(void *context, struct work *work)
{
    struct kube_writer *writer = context;
    struct job *job = work_data(work);
    if (!job) {
        job = calloc(1, sizeof(*job));
        if (!job) {
            work_retry(work, 0);
            return;
        }
        job->writer = writer;
        job->work = work;
        job->since_wall_ms = clock_wall_ms();
        work_set_data(work, job);
    }
    if (job->attempt)
        find_out(job);
    else
        make_and_write(job);
    changed(writer);
}

int kube_writer_new(const struct kube_writer_options *options, struct kube_writer **ret_writer)
{
    CLEANUP(kube_writer_freep) struct kube_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    writer->options = *options;
    writer->limits = *options->limits;
    int r = work_queue_new(options->event, &writer->limits.queue, run, writer, &writer->queue);
    if (r < 0)
        return r;
    *ret_writer = TAKE_PTR(writer);
    return 0;
}

static void free_job_of(void *context, const struct work *work)
{
    (void)context;
    if (work_data(work))
        job_free(work_data(work));
}

void kube_writer_free(struct kube_writer *writer)
{
    if (!writer)
        return;
    if (writer->queue)
        work_queue_each(writer->queue, free_job_of, NULL);
    work_queue_free(writer->queue);
    free(writer);
}

int kube_writer_add(struct kube_writer *writer, const char *key)
{
    return work_queue_add(writer->queue, key);
}

struct kube_writer_counts kube_writer_counts(const struct kube_writer *writer)
{
    struct kube_writer_counts counts = writer->counts;
    counts.running = work_queue_running(writer->queue);
    counts.waiting = work_queue_count(writer->queue) - counts.running - writer->looking;
    return counts;
}

struct asking {
    void (*each)(void *context, const struct kube_writer_row *row);
    void *context;
};

static void tell_row(void *context, const struct work *work)
{
    const struct asking *asking = context;
    const struct job *job = work_data(work);
    if (!job || job->look_ms)
        return;
    const struct kube_writer_row row = {
        .key = work_key(work),
        .what = job->attempt ? kube_attempt_words(job->attempt) : "",
        .running = work_is_running(work),
        .tries = job->tries,
        .outcome = job->outcome,
        .why = job->why,
        .since_wall_ms = job->since_wall_ms,
        .next_ms = work_wait_ms(work),
    };
    asking->each(asking->context, &row);
}

void kube_writer_each(const struct kube_writer *writer,
                      void (*each)(void *context, const struct kube_writer_row *row), void *context)
{
    struct asking asking = { each, context };
    work_queue_each(writer->queue, tell_row, &asking);
}
