/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this node takes part in service: drained by the operator, or removed from the cluster.
 *
 *   serving --drain--> draining --routes.drain.shutdown--> withdrawing --routes.drain.withdraw-->
 *   drained;    withdraw: to drained at once;    undrain: to serving, from anywhere
 *
 * The operator's word outlives the agent: it is in `standing.json` of the state folder before it is
 * acted upon, with the reason and the time that were given. A phase that was running begins anew
 * after a restart.
 *
 * A node whose Node object was there and is gone from a synced source is removed after
 * routes.nodeGone: it must not attract traffic for ever. The object's return undoes that.
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
    void (*changed)(enum standing standing, void *context); /* plan everything again */
    void *context;
};

/* Reads what the state folder says. A broken file is a fault, and counts as serving. */
int standing_new(const struct standing_options *options, struct standing_keeper **ret_keeper);
void standing_free(struct standing_keeper *keeper);
DEFINE_CLEANUP(struct standing_keeper *, standing_free);

/* What the operator says beside the word itself. */
struct standing_words {
    const char *reason;      /* at most STANDING_REASON_MAX bytes; NULL: none is given */
    int64_t announce_for_ms; /* instead of routes.drain.shutdown; -1: that */
};

/*
 * The operator's verbs. Return 0, or -errno if the state folder can't keep it: nothing changes. A
 * drain that is under way takes a new reason, and a new time as long as the addresses are announced
 * (-EALREADY); undrain forgets both.
 */
int standing_drain(struct standing_keeper *keeper, const struct standing_words *words);
int standing_withdraw(struct standing_keeper *keeper, const char *reason);
int standing_undrain(struct standing_keeper *keeper);

/*
 * Whether this node's Node object is in the store of a synced source, and whether those of others
 * are, among which it should be: a name that no Node has is a fault.
 */
void standing_observe_node(struct standing_keeper *keeper, bool present, bool others);

/* A reload: the durations of phases that begin from now on. */
void standing_set_config(struct standing_keeper *keeper, const struct config *config);
