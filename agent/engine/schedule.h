/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a pass runs, and over what. A pass is due when the store changed, when another program
 * changed something in the kernel, when an engine's waiting time ends, when a failed pass is to be
 * retried, and every five minutes in any case.
 */
#pragma once

#include <systemd/sd-event.h>

#include "apply/mirror/kernel.h"
#include "base/cleanup.h"
#include "engine/engines.h"
#include "status/status.h"
#include "store/store.h"

/* A pass runs after all inputs are processed. */
enum { PASS_PRIORITY = SD_EVENT_PRIORITY_NORMAL + 10 };

struct schedule;

/* All borrowed. */
struct schedule_options {
    sd_event *event;
    struct engines *engines;
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    /* The generation up to which the source's events are in the store; see source/manifest.h. */
    uint64_t (*loaded_generation)(void *context);
    /* Called before the periodic pass over everything: sources also compare their state. */
    void (*doubt)(void *context);
    /* Called before each pass, after all inputs are processed: may put objects into the store.
     * NULL: nothing to call. Returns 0, or -errno: the pass fails. */
    int (*prepare)(void *context);
    /* Called after each complete pass. */
    void (*passed)(void *context);
    void *context;
};

/* Returns 0 or -errno. */
int schedule_new(const struct schedule_options *options, struct schedule **ret_schedule);
void schedule_free(struct schedule *schedule);
DEFINE_CLEANUP(struct schedule *, schedule_free);

/* Requests a pass soon, after all pending input is processed; over everything with `all`. */
void schedule_pass(struct schedule *schedule, bool all);

/* Suspends passes until schedule_resume(), which starts one over everything. */
void schedule_pause(struct schedule *schedule);
void schedule_resume(struct schedule *schedule);
