/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to the Kubernetes API, until what is wanted is so: a work queue (loop/work_queue.h) whose
 * runs are attempts (kube_write.h).
 *
 * Its user adds keys, whose meaning is the user's alone. When the turn of a key comes, `make` makes
 * the write from what is known at that moment, or says that there is nothing to do. Each outcome is
 * told to `told`, which decides whether the key is tried again: later each time, at once when the
 * API answers after it did not for a while, and then with a write that is made anew. Only a write
 * of which nobody knows whether it was done is kept: what has become of it is found out before
 * `make` is asked again.
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

/* The longest back-off of a key: what an operator has mended is noticed after it at the latest. */
enum { KUBE_WRITER_PATIENCE_MS = 60 * 1000 };

/* 10,000 keys, 8 at once, 20 a second and 100 at once; 5 ms to 1 min; 1 min. */
extern const struct kube_writer_limits kube_writer_limits_default;

struct kube_told {
    struct kube_result result;
    unsigned tries; /* of this key, since it was last done; from 1 */
    unsigned done;  /* of these, those that the API said were done, and looks found not to be so */
    bool news;      /* the try before this one ended otherwise, or there was none */
};

struct kube_writer_options {
    sd_event *event;
    struct kube_client *client; /* must outlive the writer */
    const struct kube_writer_limits *limits;
    /*
     * Makes the write of a key. Strings are borrowed until the next call; the body may be built in
     * `body`, which is empty. Returns 1; 0: there is nothing to do; or -errno: to be tried again.
     */
    int (*make)(void *context, const char *key, struct kube_write *write, struct text *body);
    /*
     * Takes note of an outcome. True: the key is to be tried again, unless it is KUBE_DONE; else it
     * is forgotten. May add keys; must not free the writer.
     */
    bool (*told)(void *context, const char *key, const struct kube_told *told);
    /* True after KUBE_DONE: `make` is asked two seconds and twice the answer's time later whether
     * there is nothing left to do, and after each further success ever later, up to a minute. */
    bool looks;
    void (*changed)(void *context); /* other counts, or another row; may be NULL */
    void *context;
};

/* Returns 0 or -errno. */
int kube_writer_new(const struct kube_writer_options *options, struct kube_writer **ret_writer);

/* Ends what is under way: it may happen all the same. */
void kube_writer_free(struct kube_writer *writer);
DEFINE_CLEANUP(struct kube_writer *, kube_writer_free);

/*
 * Has a key written soon. One that waits after a failure comes at once, unless the API has asked to
 * be left alone. Returns 0; -ENOBUFS: there are too many; -ENOMEM.
 */
int kube_writer_add(struct kube_writer *writer, const char *key);

struct kube_writer_counts {
    uint64_t written, conflicts, refused;
    uint64_t lost;    /* attempts of which nobody knew whether they were done */
    uint64_t found;   /* of these, those that were found to be done */
    uint64_t retries; /* tries that were not a key's first */
    size_t waiting, running;
};

struct kube_writer_counts kube_writer_counts(const struct kube_writer *writer);

/* A key that is being written, or waits after a failure. All is borrowed during the call. */
struct kube_writer_row {
    const char *key;
    const char *what; /* "create /api/v1/..."; "" where nothing could be made yet */
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
