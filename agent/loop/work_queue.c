// SPDX-License-Identifier: Apache-2.0
/*
 * The queue of keys; see work_queue.h. Used by client/kube/kube_writer.c.
 *
 * All keys are in a table by name; those that wait are also in a heap by the time at which they are
 * due, then by the order in which they came. There is room in it for all of them, so that a key
 * that has run can wait even where there is no memory. One timer stands at the moment at which
 * something can run. A turn starts what may start and is short: what a runner finishes on the spot
 * makes room for the next key, but after some of these the loop gets its turn first.
 */
#include "loop/work_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/sorted.h"
#include "loop/backoff.h"
#include "loop/due_heap.h"
#include "loop/timer.h"
#include "loop/token_bucket.h"

enum { RUNS_AT_ONCE = 64 }; /* in one turn of the loop */

struct work {
    struct work_queue *queue;
    struct backoff backoff;
    struct due due;        /* of one that waits; monotonic */
    int64_t not_before_ms; /* as its runner has asked for */
    bool running, again;
    void *data;
    char key[];
};

struct work_queue {
    struct work_limits limits;
    work_run run;
    void *context;
    struct timer *timer;
    struct token_bucket bucket;
    struct sorted keys; /* of struct work *, which it owns */
    struct due_heap waiting;
    size_t running;
    uint64_t orders;
};

static int key_cmp(const void *a, const void *b)
{
    const struct work *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

static struct work *first_waiting(const struct work_queue *queue)
{
    struct due *first = due_heap_first(&queue->waiting);
    return first ? CONTAINER_OF(first, struct work, due) : NULL;
}

static void set_timer(struct work_queue *queue)
{
    const struct work *first = first_waiting(queue);
    int64_t now_ms = clock_mono_ms();
    if (!first || queue->running >= queue->limits.parallel) {
        timer_disarm(queue->timer);
        return;
    }
    int64_t due_ms = MAX(first->due.due_ms - now_ms, 0);
    timer_arm(queue->timer, MAX(due_ms, token_bucket_wait(&queue->bucket, now_ms)));
}

static void wait_until(struct work *work, int64_t due_ms)
{
    struct work_queue *queue = work->queue;
    work->due = (struct due){ .due_ms = due_ms, .order = queue->orders++ };
    due_heap_put(&queue->waiting, &work->due);
    set_timer(queue);
}

/* The next key whose time has come, taken out of those that wait; NULL: none may run now. */
static struct work *take_due(struct work_queue *queue)
{
    struct work *first = first_waiting(queue);
    int64_t now_ms = clock_mono_ms();
    if (!first || first->due.due_ms > now_ms || queue->running >= queue->limits.parallel ||
        !token_bucket_take(&queue->bucket, now_ms))
        return NULL;
    due_heap_remove(&queue->waiting, &first->due);
    return first;
}

static void on_time(void *context)
{
    struct work_queue *queue = context;
    for (int i = 0; i < RUNS_AT_ONCE; i++) {
        struct work *work = take_due(queue);
        if (!work)
            break;
        work->running = true;
        queue->running++;
        queue->run(queue->context, work);
    }
    set_timer(queue);
}

int work_queue_new(sd_event *event, const struct work_limits *limits, work_run run, void *context,
                   struct work_queue **ret_queue)
{
    CLEANUP(work_queue_freep) struct work_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return -ENOMEM;
    queue->limits = *limits;
    queue->run = run;
    queue->context = context;
    queue->bucket =
        (struct token_bucket){ .per_second = limits->per_second, .burst = limits->burst };
    queue->keys = (struct sorted)SORTED(struct work *, key_cmp);
    int r = timer_new(event, 0, on_time, queue, &queue->timer);
    if (r < 0)
        return r;
    *ret_queue = TAKE_PTR(queue);
    return 0;
}

void work_queue_free(struct work_queue *queue)
{
    if (!queue)
        return;
    sorted_each(struct work *, work, &queue->keys) {
        free(*work);
    }
    sorted_done(&queue->keys);
    due_heap_done(&queue->waiting);
    timer_free(queue->timer);
    free(queue);
}

static struct work *find(const struct work_queue *queue, struct work *key)
{
    struct work **found = sorted_find(&queue->keys, &key);
    return found ? *found : NULL;
}

static struct work *new_work(struct work_queue *queue, const char *key)
{
    size_t size = strlen(key) + 1;
    struct work *work = calloc(1, sizeof(*work) + size);
    if (!work)
        return NULL;
    work->queue = queue;
    work->backoff =
        (struct backoff){ .initial_ms = queue->limits.initial_ms, .max_ms = queue->limits.max_ms };
    memcpy(work->key, key, size);
    return work;
}

static void hurry(struct work *work)
{
    int64_t due_ms = MAX(clock_mono_ms(), work->not_before_ms);
    if (work->running) {
        work->again = true;
    } else if (due_ms < work->due.due_ms) {
        due_heap_remove(&work->queue->waiting, &work->due);
        wait_until(work, due_ms);
    }
}

int work_queue_add(struct work_queue *queue, const char *key)
{
    AUTOFREE struct work *work = new_work(queue, key);
    if (!work)
        return -ENOMEM;
    struct work *known = find(queue, work);
    if (known) {
        hurry(known);
        return 0;
    }
    if (queue->keys.count >= queue->limits.keys)
        return -ENOBUFS;
    int r = due_heap_reserve(&queue->waiting, queue->keys.count + 1);
    if (r < 0)
        return r;
    r = sorted_put(&queue->keys, &work);
    if (r < 0)
        return r;
    wait_until(TAKE_PTR(work), clock_mono_ms());
    return 0;
}

void work_queue_hurry(struct work_queue *queue)
{
    sorted_each(struct work *, work, &queue->keys) {
        if (!(*work)->running)
            hurry(*work);
    }
}

const char *work_key(const struct work *work)
{
    return work->key;
}

void *work_data(const struct work *work)
{
    return work->data;
}

void work_set_data(struct work *work, void *data)
{
    work->data = data;
}

static void stop_running(struct work *work)
{
    work->running = false;
    work->queue->running--;
}

void work_done(struct work *work)
{
    struct work_queue *queue = work->queue;
    stop_running(work);
    if (work->again) {
        work->again = false;
        work->not_before_ms = 0;
        backoff_reset(&work->backoff);
        wait_until(work, clock_mono_ms());
        return;
    }
    sorted_remove(&queue->keys, &work);
    free(work);
    set_timer(queue);
}

void work_skip(struct work *work)
{
    token_bucket_return(&work->queue->bucket);
    work_done(work);
}

bool work_look(struct work *work, int64_t after_ms)
{
    if (work->again)
        return false;
    stop_running(work);
    work->not_before_ms = 0;
    wait_until(work, clock_mono_ms() + after_ms);
    return true;
}

void work_retry(struct work *work, int64_t leave_ms)
{
    int64_t now_ms = clock_mono_ms();
    stop_running(work);
    work->again = false;
    work->not_before_ms = now_ms + leave_ms;
    wait_until(work, now_ms + MAX(leave_ms, backoff_next(&work->backoff)));
}

size_t work_queue_count(const struct work_queue *queue)
{
    return queue->keys.count;
}

size_t work_queue_running(const struct work_queue *queue)
{
    return queue->running;
}

bool work_is_running(const struct work *work)
{
    return work->running;
}

int64_t work_wait_ms(const struct work *work)
{
    return work->running ? 0 : MAX(work->due.due_ms - clock_mono_ms(), 0);
}

void work_queue_each(const struct work_queue *queue,
                     void (*each)(void *context, const struct work *work), void *context)
{
    sorted_each(struct work *, work, &queue->keys) {
        each(context, *work);
    }
}
