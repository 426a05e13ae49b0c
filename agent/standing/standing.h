/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this node takes part in service: drained by the operator, or removed from the cluster.
 *
 *   serving --drain--> draining --routes.drain.shutdown--> withdrawing --routes.drain.withdraw-->
 *   drained;    withdraw: to drained at once;    undrain: to serving, from anywhere
 *
 * The operator's command outlives the agent: it is stored in `standing.json` of the state folder
 * before it takes effect, with its reason and time. A phase that was running begins anew after a
 * restart.
 *
 * A node whose Node object is missing from a synced source, after it existed, is removed after
 * routes.nodeGone: it must not attract traffic without end. If the object is created again, that is
 * undone.
 */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "plan/routes/route_inputs.h"
#include "status/status.h"

struct standing_keeper;

struct standing_options {
    sd_event *event;
    const struct config *config;
    struct status *status;                                  /* ->standing is kept up to date */
    void (*changed)(enum standing standing, void *context); /* to plan everything again */
    void *context;
};

/* Reads the record in the state folder. A broken file is a fault, and counts as serving. */
int standing_new(const struct standing_options *options, struct standing_keeper **ret_keeper);
void standing_free(struct standing_keeper *keeper);
DEFINE_CLEANUP(struct standing_keeper *, standing_free);

/* The arguments of an operator's command. */
struct standing_words {
    const char *reason;      /* at most STANDING_REASON_MAX bytes; NULL: none is given */
    int64_t announce_for_ms; /* instead of routes.drain.shutdown; -1: as configured */
};

/*
 * The operator's commands. Return 0, or -errno if the state folder can't be written: nothing
 * changes. A drain under way accepts a new reason, and a new time as long as the addresses are
 * announced (-EALREADY); undrain drops both.
 */
int standing_drain(struct standing_keeper *keeper, const struct standing_words *words);
int standing_withdraw(struct standing_keeper *keeper, const char *reason);
int standing_undrain(struct standing_keeper *keeper);

/*
 * Whether this node's Node object is in the store of a synced source, and whether those of other
 * nodes are, in which case it should be, too: a name that no Node has is a fault.
 */
void standing_observe_node(struct standing_keeper *keeper, bool present, bool others);

/* Applies a reloaded configuration: the durations of phases that begin from now on. */
void standing_set_config(struct standing_keeper *keeper, const struct config *config);
