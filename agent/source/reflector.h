/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kind of objects, kept in sync with the API: listed, then watched, without end. Internal to
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
    int64_t absent_ms;                      /* until a kind that is not served is retried */
    int64_t answer_ms;                  /* for the head of an answer, and each element of a list */
    int64_t list_ms;                    /* for a complete list */
    int64_t silence_ms;                 /* of a watch */
    int64_t watch_min_ms, watch_max_ms; /* the timeout of a watch that the API is asked for */
    int64_t steady_ms;                  /* a watch that lasted this long counts as success */
    int64_t burst_initial_ms, burst_max_ms; /* after watches that end in a burst of events */
    int64_t pulse_ms, pulse_limit_ms;       /* silence until a check; the limit for its answer */
    unsigned list_max;                      /* elements: a list with more is abandoned */
};

extern const struct kube_timing kube_timing_default;

/* The current task. */
enum reflector_task {
    TASK_NONE, /* before the first task */
    TASK_LIST,
    TASK_CHECK, /* reads the API's current version, where a watch is not just resumed */
    TASK_WATCH,
};

/* How a list is requested, from the cheapest for the API on. */
enum list_mode {
    LIST_CACHED,     /* from the API server's cache, but not older than what was seen before */
    LIST_CONSISTENT, /* from etcd, in pages */
    LIST_WHOLE,      /* the same in one piece, after pages have expired during a list */
};

struct reflector {
    const struct kube_resource *resource;
    bool needed; /* its absence is a fault, and is checked more often */
    const struct kube_timing *timing;
    struct kube_client *client;
    struct kube_kind_status *status;
    void (*changed)(void *context); /* the store or the status has changed */
    void (*reached)(void *context); /* the API has sent something */
    void *context;
    char *path;       /* parameters can be appended */
    char *check_path; /* of the own Node */
    struct kube_objects objects;

    enum reflector_task task;
    struct kube_request *request; /* NULL: it waits */
    struct json_splitter *splitter;
    struct timer *patience, *retry, *steady_timer;
    struct backoff backoff;
    struct backoff burst_backoff;
    char version[KUBE_VERSION_MAX]; /* of the known state; "" before the first list */
    bool relist;                    /* a list precedes the next watch */
    bool doubted;                   /* a list was older than the known state: a check is next */
    bool back;                      /* the API has an older version, or the check for that failed */
    bool fresh;                     /* listed, and no watch has lasted since */
    unsigned bursts;    /* watches in a row that ended in a burst before they had lasted */
    unsigned silences;  /* watches in a row without events, while the API's version advanced */
    bool deaf;          /* they had not reported a change that a list has shown meanwhile */
    uint64_t changes;   /* of the objects, before that list, which checks for missed events */
    bool looking;       /* that list is under way */
    unsigned failures;  /* in a row */
    bool long_pause;    /* one of them asked for a long delay */
    bool unreachable;   /* the last failure: there was no answer at all */
    const char *remedy; /* of the last one; static, or NULL */
    unsigned absences;  /* in a row */
    bool watched;       /* there was a watch before */

    /* The answer that is being received. */
    int http_status; /* 0: none yet */
    int64_t retry_after_ms;
    struct text refusal;          /* the body of an answer that is not 200, bounded */
    char trouble[KUBE_ERROR_LEN]; /* why the answer was abandoned; "": it was not */
    bool headed;                  /* the part before the items of a list was checked */
    bool framed;                  /* the part around the items of a list was received */
    bool expired;                 /* an event of the watch reports it */
    bool steady;                  /* the watch has lasted */
    bool silent;                  /* a check: the watch before it had no events at all */

    /* The list that is being received. */
    enum list_mode list_mode;
    struct key_set named;
    bool nameless;      /* it has elements that can't be identified */
    char *continuation; /* of the next page; NULL: there is none */
    char list_version[KUBE_VERSION_MAX];
    int64_t list_began_ms; /* monotonic */
    unsigned pages;        /* pages before this one */
    unsigned elements;     /* of all pages so far; of a watch: events */
    unsigned news;         /* events of a watch that were newer than all before */
};

enum { REFLECTOR_BURSTS_MANY = 8 }; /* some 4 s of pauses: reported */

/* A single failure is normal: a fault is raised from the second one in a row on, or from one with a
 * long delay until the next try. The same is true of watches that end in bursts of events, or in
 * silence. */
static inline bool reflector_fails(const struct reflector *reflector)
{
    return reflector->failures > 1 || reflector->long_pause || reflector->deaf ||
           reflector->bursts >= REFLECTOR_BURSTS_MANY;
}

/*
 * Prepares a reflector whose members up to `context` are set, and begins to list. Returns 0 or
 * -errno; reflector_done() is due in any case.
 */
int reflector_start(struct reflector *reflector, sd_event *event, struct store *store,
                    const struct kube_asker *asker);
void reflector_done(struct reflector *reflector);

/* The API is reachable: a reflector that waits because it was not need not wait any longer. */
void reflector_hurry(struct reflector *reflector);

/*
 * reflector_read.c: reads a piece of an answer's body, or its end, where the answer must be
 * complete. Returns 0, or -1 if it was abandoned.
 */
int reflector_read(struct reflector *reflector, const char *bytes, size_t size);
void reflector_read_end(struct reflector *reflector);

/*
 * reflector_silence.c: after a watch without events, a check has read the API's version, and a list
 * the objects; a watch has sent an event: returns whether that ends a fault.
 */
void silence_checked(struct reflector *reflector);
void silence_listed(struct reflector *reflector);
bool silence_ends(struct reflector *reflector);
/* Reports the problem as long as it is `deaf`. */
void silence_tell(struct reflector *reflector);

/* The time limit for the next part of the answer. */
int64_t reflector_patience_ms(const struct reflector *reflector);

/* Abandons the answer, for a reason to be shown; returns -1. */
int reflector_give_up(struct reflector *reflector, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * kube_list.c and kube_watch.c: paths (NULL: no memory; the caller frees it), and parsers of
 * answers. They return 0, or -1 after abandoning the answer.
 */
char *list_path(const struct reflector *reflector);
void list_begin(struct reflector *reflector);
int list_head(struct reflector *reflector); /* before each element: checks what precedes all */
int list_part(struct reflector *reflector, const struct json_part *part);
int list_refused_part(struct reflector *reflector, const char *text, const struct faults *why);
int list_end(struct reflector *reflector); /* of the last page */

char *watch_path(const struct reflector *reflector);
int watch_part(struct reflector *reflector, const struct json_part *part);
int watch_refused_part(struct reflector *reflector, const char *text, const struct faults *why);
