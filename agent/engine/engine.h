/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine is: one subsystem's share of every pass, as a table of operations.
 *
 * An engine plans what its subsystem wants in the kernel, compares that with what is there, and
 * writes the difference. The pass (pass.h) calls the operations of all engines stage by stage, in
 * the order of the table in engines.c. The pass knows no engine by name.
 *
 *   note, hear    the engine is told what changed among objects and in the kernel, and marks the
 *                 units that this touches as dirty
 *   plan          the engine plans the dirty units; it writes nothing
 *   withdraw      the engine takes out of the network what is about to lose service
 *   write         the engine writes everything else; engines before it in the table have written
 *   publish       the engine updates status and faults, and forgets what the round was about
 *
 * One `struct round` goes through all of them. It says what the round is about, and carries what
 * one engine has to tell the engines behind it. What has to outlive a round is on the board
 * (board.h).
 *
 * An operation that an engine does not need is NULL. No operation blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "apply/mirror/kernel.h"
#include "base/net/ip.h"
#include "config/config.h"
#include "engine/board.h"
#include "loop/looks.h"
#include "status/status.h"
#include "store/store.h"

struct engine;

/* One pass over the engines, from the first note to the last word of publish. */
struct round {
    /* Said by the schedule. */
    int64_t now_ms;  /* monotonic */
    bool all;        /* everything is compared; else what is dirty */
    bool may_remove; /* the source has synced: what it does not name may be removed */

    /* Said by engines, to those behind them in the table and to all in later stages. */
    ip_list losses;  /* addresses that write will stop serving, sorted: they are withdrawn first */
    ip_list touched; /* addresses whose service or proof changed; duplicates possible */
    bool svc0_moved; /* the leads to svc0 changed (board.h) */
    bool routes_moved; /* routes were written: what is announced may be something else */

    /* Said by engines, to the schedule. */
    bool expected; /* there was work to find: a difference is not one that notifications missed */
    bool full;     /* an engine went over everything that it has */
    uint32_t changes; /* operations that the kernel was asked for */
    uint32_t repairs; /* those that undid a foreign change */

    /* Said by the pass, for publish and the schedule: the next round is over all. */
    int error;          /* 0, or -errno of the first that failed */
    const char *failed; /* the engine's name; NULL: none, or what is read for all of them */
};

void round_done(struct round *round);

/* How far an engine is with the work that it was given. */
enum progress {
    PROGRESS_DONE,
    PROGRESS_LATER,   /* something waits until next_ms */
    PROGRESS_AT_ONCE, /* another round is needed as soon as the loop has read its inputs */
};

/* What every engine is made with. All borrowed, for as long as the engine lives. */
struct engine_setup {
    sd_event *event;
    struct looks *looks;         /* at what the kernel does not tell of */
    const struct config *config; /* until configure() gives another */
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    struct board *board;
    /* Asks for a round soon, for a change that neither store nor kernel tell of. */
    void (*wake)(void *context);
    void *context;
};

struct engine_ops {
    const char *name; /* "routes" */

    /*
     * Adds to the scope of the kernel's mirror what the engine looks at beside what is there for
     * all of them (scope_of_node()). Comes before open. Returns 0 or -errno.
     */
    int (*scope)(const struct config *config, struct kernel_scope *scope);

    /* Returns 0 or -errno. What can't be had, but can be done without, is a fault. */
    int (*open)(const struct engine_setup *setup, struct engine **ret_engine);
    void (*close)(struct engine *engine);
    /* Another configuration is in force; the old one is freed after this. A round over all follows.
     */
    void (*configure)(struct engine *engine, const struct config *config);

    /* An object changed. Both versions stay valid until publish. Returns 0 or -ENOMEM. */
    int (*note)(struct engine *engine, const struct change *change, struct round *round);
    /* What others did in the kernel. Called once in each round, after all notes. 0 or -errno. */
    int (*hear)(struct engine *engine, const struct kernel_events *events, struct round *round);
    /* Each returns 0 or -errno, and the next round is over everything. Who fails to plan does
     * nothing more in this round; where withdraw fails, nobody writes. */
    int (*plan)(struct engine *engine, struct round *round);
    int (*withdraw)(struct engine *engine, struct round *round);
    int (*write)(struct engine *engine, struct round *round);
    /* Called at the end of each round, also of one that failed. */
    void (*publish)(struct engine *engine, struct round *round);

    /* When a round is due though nothing changes (monotonic); INT64_MAX: never. */
    int64_t (*next_ms)(const struct engine *engine, int64_t now_ms);
    enum progress (*progress)(const struct engine *engine);
    /* Updates the counts in status that cost a walk: called when somebody asks for them. */
    void (*count)(struct engine *engine);
};

/* An engine's own structure begins with this. */
struct engine {
    const struct engine_ops *ops;
    bool stopped; /* the pass's: it could not plan in this round */
};
