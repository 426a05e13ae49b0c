/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine is: one subsystem's share of every pass, as a table of operations.
 *
 * An engine plans what its subsystem wants in the kernel, compares that with what is there, and
 * writes the difference. The pass (pass.h) calls the operations of all engines stage by stage, in
 * the order of the table in engines.c. The pass refers to no engine by name.
 *
 *   note, hear    the engine receives changes of objects and of the kernel's tables, and marks the
 *                 units that this touches as dirty
 *   plan          the engine plans the dirty units; it writes nothing
 *   withdraw      the engine withdraws from the network what is about to lose service
 *   write         the engine writes everything else; engines before it in the table have written
 *   publish       the engine updates status and faults, and discards the work of the round
 *
 * One `struct round` goes through all of them. It defines what the round covers, and passes results
 * of one engine to the engines behind it. What has to outlive a round is on the board (board.h).
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

/* One pass over all engines, from note to publish. */
struct round {
    /* Set by the schedule. */
    int64_t now_ms;  /* monotonic */
    bool all;        /* everything is compared; otherwise only what is dirty */
    bool may_remove; /* the source has synced: what it does not name may be removed */

    /* Set by engines, for those behind them in the table and for all in later stages. */
    ip_list losses;  /* addresses that write will stop serving, sorted: they are withdrawn first */
    ip_list touched; /* addresses whose service or proof changed; duplicates possible */
    bool svc0_moved; /* the svc0 routes changed (board.h) */
    bool routes_moved; /* routes were written: what is announced may have changed */

    /* Set by engines, for the schedule. */
    bool expected; /* there was work: a difference does not mean that a notification was missed */
    bool full;     /* an engine covered everything that it has */
    uint32_t changes; /* operations requested from the kernel */
    uint32_t repairs; /* those that undid a foreign change */

    /* Set by the pass, for publish and the schedule: the next round is over all. */
    int error;          /* 0, or -errno of the first failure */
    const char *failed; /* the engine's name; NULL: none, or a step for all engines */
};

void round_done(struct round *round);

/* How far an engine is with its work. */
enum progress {
    PROGRESS_DONE,
    PROGRESS_LATER,   /* something waits until next_ms */
    PROGRESS_AT_ONCE, /* another round is needed as soon as the loop has read its inputs */
};

/* Arguments for the creation of every engine. All borrowed while the engine lives. */
struct engine_setup {
    sd_event *event;
    struct looks *looks;         /* checks of what the kernel gives no notification of */
    const struct config *config; /* until configure() sets another */
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    struct board *board;
    /* Requests a round soon, for a change that neither the store nor the kernel reports. */
    void (*wake)(void *context);
    void *context;
};

struct engine_ops {
    const char *name; /* "routes" */

    /*
     * Adds to the scope of the kernel's mirror what the engine reads beyond what is there for all
     * engines (scope_of_node()). Called before open. Returns 0 or -errno.
     */
    int (*scope)(const struct config *config, struct kernel_scope *scope);

    /* Returns 0 or -errno. An optional resource that can't be opened is a fault. */
    int (*open)(const struct engine_setup *setup, struct engine **ret_engine);
    void (*close)(struct engine *engine);
    /* A new configuration is in force; the old one is freed after this call. A round over all
     * follows. */
    void (*configure)(struct engine *engine, const struct config *config);

    /* An object changed. Both versions stay valid until publish. Returns 0 or -ENOMEM. */
    int (*note)(struct engine *engine, const struct change *change, struct round *round);
    /*
     * Changes that other programs made in the kernel. Called once per round, after all notes. 0 or
     * -errno.
     */
    int (*hear)(struct engine *engine, const struct kernel_events *events, struct round *round);
    /* Each returns 0 or -errno; after an error the next round is over everything. An engine that
     * fails to plan does nothing more in this round; if withdraw fails, no engine writes. */
    int (*plan)(struct engine *engine, struct round *round);
    int (*withdraw)(struct engine *engine, struct round *round);
    int (*write)(struct engine *engine, struct round *round);
    /* Called at the end of each round, also of one that failed. */
    void (*publish)(struct engine *engine, struct round *round);

    /* When a round is due though nothing changes (monotonic); INT64_MAX: never. */
    int64_t (*next_ms)(const struct engine *engine, int64_t now_ms);
    enum progress (*progress)(const struct engine *engine);
    /* Updates the counts in status that need a walk: called when a client requests them. */
    void (*count)(struct engine *engine);
};

/* An engine's own structure begins with this. */
struct engine {
    const struct engine_ops *ops;
    bool stopped; /* set by the pass: the engine could not plan in this round */
};
