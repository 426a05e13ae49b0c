/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine is: one subsystem's part of every pass, as a table of operations.
 *
 * An engine plans what its subsystem wants of the kernel, compares that with what is there, and
 * writes the difference. The pass (pass.h) calls the operations of all engines stage by stage, in
 * the order of the table in engines.c, and knows no engine by name:
 *
 *   note, hear    what the objects and the kernel have become; the engine marks its units dirty
 *   plan          dirty units are planned, nothing is written
 *   withdraw      what must leave the network before it stops being served
 *   write         everything else; what an earlier engine of the table has written stands by now
 *   publish       status and faults; the engine forgets what the round was about
 *
 * One `struct round` goes through all of them: it says what the round is about, and carries what
 * one engine has to tell those behind it. What outlives a round is on the board (board.h).
 *
 * Operations that an engine does not need are NULL. None of them blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "apply/kernel.h"
#include "base/ip.h"
#include "config/config.h"
#include "engine/board.h"
#include "status/status.h"
#include "store/store.h"

struct engine;

/* One pass over the engines, from the first note to the last word of publish. */
struct round {
    /* Said by the schedule. */
    int64_t now_ms;  /* monotonic */
    bool all;        /* everything is compared; else what is dirty */
    bool may_remove; /* the source has synced: what it does not name shall not stand */

    /* Said by engines, to those behind them in the table and to all in later stages. */
    ip_list losses;   /* addresses that write will stop serving, sorted: they are withdrawn first */
    ip_list touched;  /* addresses whose service or proof changed; duplicates possible */
    bool leads_moved; /* this node's way to service addresses is another (board.h) */

    /* Said by engines, to the schedule. */
    bool expected; /* there was work to find: a difference is not one that notifications missed */
    bool full;     /* an engine went over everything that it has */
    uint32_t changes; /* operations that the kernel was asked for */
    uint32_t repairs; /* those that undid a foreign change */

    int error; /* for publish: 0, or -errno of the stage that failed; the next round is over all */
};

void round_done(struct round *round);

/* What an engine has yet to do of what it has taken in. */
enum progress {
    PROGRESS_DONE,
    PROGRESS_LATER,   /* something waits for its time, which next_ms tells */
    PROGRESS_AT_ONCE, /* another round shall follow as soon as the loop has seen to its inputs */
};

/* What every engine is made with. All borrowed, for as long as the engine lives. */
struct engine_setup {
    sd_event *event;
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

    /* Returns 0 or -errno. What can't be had, but can be done without, is a fault. */
    int (*open)(const struct engine_setup *setup, struct engine **ret_engine);
    void (*close)(struct engine *engine);
    /* Another configuration is in force; the old one is freed after this. A round over all follows.
     */
    void (*configure)(struct engine *engine, const struct config *config);

    /* An object changed. Returns 0 or -ENOMEM. What is kept of it is valid until publish. */
    int (*note)(struct engine *engine, const struct change *change, struct round *round);
    /* What others did in the kernel. Comes once in each round, after all notes. 0 or -errno. */
    int (*hear)(struct engine *engine, const struct kernel_events *events, struct round *round);
    /* Each returns 0 or -errno: then the round ends, and the next one is over everything. */
    int (*plan)(struct engine *engine, struct round *round);
    int (*withdraw)(struct engine *engine, struct round *round);
    int (*write)(struct engine *engine, struct round *round);
    /* Ends each round, also one that failed. */
    void (*publish)(struct engine *engine, struct round *round);

    /* When a round is due though nothing changes (monotonic); INT64_MAX: never. */
    int64_t (*next_ms)(const struct engine *engine, int64_t now_ms);
    enum progress (*progress)(const struct engine *engine);
    /* Brings counts in status up to date that cost a walk: for who asks, not for each round. */
    void (*count)(struct engine *engine);
};

/* An engine's own structure begins with this. */
struct engine {
    const struct engine_ops *ops;
};
