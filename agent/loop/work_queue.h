/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of keys that each want some work done, now or again later.
 *
 * It holds keys and never what the work is about: the runner looks at what is known when the turn
 * of a key comes. A key is in the queue once, and never runs twice at the same time: if it is added
 * while it runs, it runs again. What fails waits, longer each time; a token bucket over all keys,
 * and a limit on those that run at once, keep a common cause from becoming a storm.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

struct work_queue;

/* A key and its state. The queue's, from work_queue_add() until work_done(). */
struct work;

struct work_limits {
    size_t keys;                /* that are in the queue at most */
    unsigned parallel;          /* that run at once */
    uint32_t per_second, burst; /* runs; 0 per second: no limit */
    int64_t initial_ms, max_ms; /* of a key's back-off */
};

/*
 * The turn of a key. Ends, now or later, with one of the work_...() functions below; must not free
 * the queue.
 */
typedef void (*work_run)(void *context, struct work *work);

/* `limits` are copied. Returns 0 or -errno. */
int work_queue_new(sd_event *event, const struct work_limits *limits, work_run run, void *context,
                   struct work_queue **ret_queue);

/* What runs must have been told of it, for its work is gone. */
void work_queue_free(struct work_queue *queue);
DEFINE_CLEANUP(struct work_queue *, work_queue_free);

/*
 * Has a key run soon. One that waits after a failure comes at once, but not before the time for
 * which work_retry() was told to leave it. Returns 0; -ENOBUFS if the queue is full; -ENOMEM.
 */
int work_queue_add(struct work_queue *queue, const char *key);

/* The same for every key that waits: what kept all of them back is over. */
void work_queue_hurry(struct work_queue *queue);

const char *work_key(const struct work *work);

/* What the runner keeps with a key; NULL at first. The runner frees it before the work is done. */
void *work_data(const struct work *work);
void work_set_data(struct work *work, void *data);

/* The key is done, and leaves the queue unless it was added meanwhile. */
void work_done(struct work *work);

/* The same; nothing had to be done, which does not count towards the rate. */
void work_skip(struct work *work);

/*
 * It is done, as far as the runner knows, and runs again after so long to see whether it is; at
 * once if it is added. False, and nothing is done, if it was added meanwhile.
 */
bool work_look(struct work *work, int64_t after_ms);

/* Has it run again after the key's back-off, and not before `leave_ms` are over. */
void work_retry(struct work *work, int64_t leave_ms);

size_t work_queue_count(const struct work_queue *queue); /* keys, running or not */
size_t work_queue_running(const struct work_queue *queue);

bool work_is_running(const struct work *work);

/* Milliseconds until a key that waits may run; 0: it runs, or could. */
int64_t work_wait_ms(const struct work *work);

/* Each key, in their order. `each` must not change the queue. */
void work_queue_each(const struct work_queue *queue,
                     void (*each)(void *context, const struct work *work), void *context);
