/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to the Kubernetes API until the desired state is reached: a work queue (loop/work_queue.h)
 * whose runs are attempts (kube_write.h).
 *
 * The user adds keys, whose meaning only the user knows. When a key is due, `make` makes the write
 * from the state at that moment, or returns that there is nothing to do. Each outcome is passed to
 * `told`, which decides whether the key is retried: with growing delays, or at once when the API
 * answers again after an outage. A retry makes the write anew. Only a write with an uncertain
 * outcome is kept: its outcome is found before `make` is called again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "client/kube/kube_write.h"
#include "loop/work_queue.h"

struct kube_writer;

struct kube_writer_limits {
    struct work_limits queue;
    int64_t answer_ms; /* for one request, up to the end of its answer */
};

/*
 * The longest back-off of a key: a retry notices an operator's fix after this time at the latest.
 */
enum { KUBE_WRITER_PATIENCE_MS = 60 * 1000 };

/* 10,000 keys, 8 at once, 20 a second and 100 at once; 5 ms to 1 min; 1 min. */
extern const struct kube_writer_limits kube_writer_limits_default;

struct kube_told {
    struct kube_result result;
    unsigned tries; /* of this key, since it was last done; from 1 */
    unsigned done;  /* of these, the ones that the API reported as done and a later check did not
                       confirm */
    bool news;      /* the previous try ended with another outcome, or there was none */
};

struct kube_writer_options {
    sd_event *event;
    struct kube_client *client; /* must outlive the writer */
    const struct kube_writer_limits *limits;
    /*
     * Makes the write of a key. Strings are borrowed until the next call; the body may be built in
     * `body`, which is empty. Returns 1; 0: there is nothing to do; or -errno: to be retried.
     */
    int (*make)(void *context, const char *key, struct kube_write *write, struct text *body);
    /*
     * Notes an outcome. True: the key is to be retried, unless it is KUBE_DONE; otherwise it is
     * forgotten. May add keys; must not free the writer.
     */
    bool (*told)(void *context, const char *key, const struct kube_told *told);
    /*
     * True: after KUBE_DONE, `make` is called again to check whether nothing is left to do. The
     * first check is after two seconds plus twice the answer's time; after each further success the
     * delay grows, up to a minute.
     */
    bool looks;
    void (*changed)(void *context); /* counts or rows have changed; may be NULL */
    void *context;
};

/* Returns 0 or -errno. */
int kube_writer_new(const struct kube_writer_options *options, struct kube_writer **ret_writer);

/* Cancels requests under way: they may still happen. */
void kube_writer_free(struct kube_writer *writer);
DEFINE_CLEANUP(struct kube_writer *, kube_writer_free);

/*
 * Has a key written soon. A key that waits after a failure runs at once, unless the API asked for a
 * delay (Retry-After). Returns 0; -ENOBUFS: there are too many; -ENOMEM.
 */
int kube_writer_add(struct kube_writer *writer, const char *key);

struct kube_writer_counts {
    uint64_t written, conflicts, refused;
    uint64_t lost;    /* attempts with an uncertain outcome */
    uint64_t found;   /* of these, those that were found to be done */
    uint64_t retries; /* tries that were not a key's first */
    size_t waiting, running;
};

struct kube_writer_counts kube_writer_counts(const struct kube_writer *writer);

/* A key that is being written, or waits after a failure. Borrowed during the call. */
struct kube_writer_row {
    const char *key;
    const char *what; /* "create /api/v1/..."; "" where no write could be made yet */
    bool running;
    unsigned tries;            /* that have ended */
    enum kube_outcome outcome; /* of the last one; KUBE_DONE: there was none */
    const char *why;           /* "": the first try is under way */
    int64_t since_wall_ms;     /* of the first try */
    int64_t next_ms;           /* until the next one */
};

void kube_writer_each(const struct kube_writer *writer,
                      void (*each)(void *context, const struct kube_writer_row *row),
                      void *context);
