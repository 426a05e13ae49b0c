/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a pass over the planes is due, and of what: the store's changes, what others did in
 * the kernel, the end of a hold-down, a retry, and the periodic doubt.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "engine/nat/nat_engine.h"
#include "engine/routes/route_engine.h"

/* Passes come after all inputs. */
enum { PASS_PRIORITY = SD_EVENT_PRIORITY_NORMAL + 10 };

struct reconciler;

struct reconcile_options {
    sd_event *event;
    struct route_engine *engine;
    struct nat_engine *nat;
    /* The generation up to which the source's events are in the store; see source/manifest.h. */
    uint64_t (*loaded_generation)(void *context);
    /* Called before the periodic pass over everything: sources compare what they have, too. */
    void (*doubt)(void *context);
    /* Called after each complete pass. */
    void (*passed)(void *context);
    void *context;
};

int reconciler_new(const struct reconcile_options *options, struct reconciler **ret_reconciler);
void reconciler_free(struct reconciler *reconciler);
DEFINE_CLEANUP(struct reconciler *, reconciler_free);

/* NAT's ground is not what it was, though the kernel told nobody: a pass soon. */
void reconciler_doubt_node(struct reconciler *reconciler);

/* A pass soon, after all pending input was taken in; over everything with `all`. */
void reconciler_schedule(struct reconciler *reconciler, bool all);

/* No pass runs from here on, until one over everything by reconciler_release(). */
void reconciler_hold(struct reconciler *reconciler);
void reconciler_release(struct reconciler *reconciler);
