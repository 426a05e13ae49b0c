/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kind of objects, kept as the API has them: listed, then watched, for ever. Internal to
 * source/; kube.c has one for each kind.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/text.h"
#include "client/kube/kube.h"
#include "format/json_splitter.h"
#include "loop/backoff.h"
#include "loop/timer.h"
#include "source/key_set.h"
#include "source/kube_objects.h"
#include "source/kube_resource.h"
#include "status/kube_status.h"

struct kube_timing {
    int64_t retry_initial_ms, retry_max_ms; /* after a failure */
    int64_t absent_ms;                      /* until a kind that is not served is looked for */
    int64_t answer_ms;                  /* for the head of an answer, and each element of a list */
    int64_t list_ms;                    /* for all of a list */
    int64_t silence_ms;                 /* of a watch */
    int64_t watch_min_ms, watch_max_ms; /* how long the API is asked to keep a watch up */
    int64_t steady_ms;                  /* a watch that has lasted so long counts as success */
    int64_t burst_initial_ms, burst_max_ms; /* after watches that end in a burst of events */
    int64_t pulse_ms, pulse_limit_ms;       /* of silence until the API is asked; for its answer */
    unsigned list_max;                      /* elements: who lists more does not come to an end */
};

extern const struct kube_timing kube_timing_default;

/* What is under way. */
enum reflector_task {
    TASK_NONE, /* before the first one */
    TASK_LIST,
    TASK_CHECK, /* asks how far the API has come, where a watch is not just resumed */
    TASK_WATCH,
};

/* How a list is asked for, from the cheapest for the API on. */
enum list_mode {
    LIST_CACHED,     /* what the API server has at hand, but nothing older than seen here before */
    LIST_CONSISTENT, /* what stands in etcd, in pages */
    LIST_WHOLE,      /* the same in one piece: pages have expired under way */
};

struct reflector {
    const struct kube_resource *resource;
    bool needed; /* its absence is a fault, and does not last longer than it has to */
    const struct kube_timing *timing;
    struct kube_client *client;
    struct kube_kind_status *status;
    void (*changed)(void *context); /* the store or the status has changed */
    void (*reached)(void *context); /* the API has said something */
    void *context;
    char *path;       /* up to further parameters */
    char *check_path; /* of the own Node */
    struct kube_objects objects;

    enum reflector_task task;
    struct kube_request *request; /* NULL: it waits */
    struct json_splitter *splitter;
    struct timer *patience, *retry, *steady_timer;
    struct backoff backoff;
    struct backoff burst_backoff;
    char version[KUBE_VERSION_MAX]; /* where what is known stands; "" before the first list */
    bool relist;                    /* a list comes before the next watch */
    bool doubted;                   /* a list was older than what is known: a check comes first */
    bool back;                      /* the API has gone back, or can't be asked whether it has */
    bool fresh;                     /* listed, and no watch has lasted since */
    unsigned bursts;                /* watches in a row that ended in one, before they had lasted */
    unsigned silences;              /* watches in a row that said nothing, while the API went on */
    bool deaf;                      /* of what a list has shown meanwhile they had said nothing */
    uint64_t changes;               /* of the objects, before that list; it is a look */
    bool looking;                   /* that list is under way */
    unsigned failures;              /* in a row */
    bool long_pause;                /* one of them asked to be left alone for long */
    bool unreachable;               /* the last one: there was no answer at all */
    const char *remedy;             /* of the last one; static, or NULL */
    unsigned absences;              /* in a row */
    bool watched;                   /* there was a watch before */

    /* The answer that is being read. */
    int http_status; /* 0: none yet */
    int64_t retry_after_ms;
    struct text refusal;          /* the body of an answer that is not 200, bounded */
    char trouble[KUBE_ERROR_LEN]; /* why reading was given up; "": it was not */
    bool headed;                  /* what stands before the items of a list was looked at */
    bool framed;                  /* what stands around the items of a list has come */
    bool expired;                 /* an event of the watch says so */
    bool steady;                  /* the watch has lasted */
    bool silent;                  /* a check: the watch before it has said nothing at all */

    /* The list that is being read. */
    enum list_mode list_mode;
    struct key_set named;
    bool nameless;      /* it has elements that nobody can name */
    char *continuation; /* of the next page; NULL: there is none */
    char list_version[KUBE_VERSION_MAX];
    int64_t list_began_ms; /* monotonic */
    unsigned pages;        /* before this one */
    unsigned elements;     /* of this one and those before it; events of a watch */
    unsigned news;         /* events of a watch that were newer than all before */
};

enum { REFLECTOR_BURSTS_MANY = 8 }; /* some 4 s of pauses: told */

/* One failure may happen to anybody: a fault is told of from the second in a row on, or from one
 * that the next try has to wait for. So it is of watches that end in bursts of events, or in
 * silence. */
static inline bool reflector_fails(const struct reflector *reflector)
{
    return reflector->failures > 1 || reflector->long_pause || reflector->deaf ||
           reflector->bursts >= REFLECTOR_BURSTS_MANY;
}

/*
 * Prepares a reflector of which the members up to `context` are given, and begins to list. Returns
 * 0 or -errno; reflector_done() is due in any case.
 */
int reflector_start(struct reflector *reflector, sd_event *event, struct store *store,
                    const struct kube_asker *asker);
void reflector_done(struct reflector *reflector);

/* The API can be reached: who waits because it could not need not wait any longer. */
void reflector_hurry(struct reflector *reflector);

/*
 * reflector_read.c: takes a piece of an answer's body; its end, which must be that of what it says.
 * Returns 0, or -1 if it was given up.
 */
int reflector_read(struct reflector *reflector, const char *bytes, size_t size);
void reflector_read_end(struct reflector *reflector);

/*
 * reflector_silence.c: after a watch that said nothing, a check has shown how far the API is, and a
 * list what there is; a watch has said something: returns whether that ends a fault.
 */
void silence_checked(struct reflector *reflector);
void silence_listed(struct reflector *reflector);
bool silence_ends(struct reflector *reflector);
/* What is wrong, as long as it is `deaf`. */
void silence_tell(struct reflector *reflector);

/* How long the next part of the answer may take. */
int64_t reflector_patience_ms(const struct reflector *reflector);

/* Gives the answer up, for a reason to be shown; returns -1. */
int reflector_give_up(struct reflector *reflector, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * kube_list.c and kube_watch.c: where to ask (NULL: no memory; the caller frees it), and what is
 * said there. They return 0, or -1 after giving up.
 */
char *list_path(const struct reflector *reflector);
void list_begin(struct reflector *reflector);
int list_head(struct reflector *reflector); /* before each element: what stands before all */
int list_part(struct reflector *reflector, const struct json_part *part);
int list_refused_part(struct reflector *reflector, const char *text, const struct faults *why);
int list_end(struct reflector *reflector); /* of the last page */

char *watch_path(const struct reflector *reflector);
int watch_part(struct reflector *reflector, const struct json_part *part);
int watch_refused_part(struct reflector *reflector, const char *text, const struct faults *why);
