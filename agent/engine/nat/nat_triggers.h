/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since when the cluster waits for this node to take endpoints over: of each Service the earliest
 * change that its slices tell of (annotation endpoints.kubernetes.io/last-change-trigger-time) and
 * that is not in the maps yet. For kube-proxy's network_programming_duration, and with its rules:
 * what was triggered before the agent started does not count, and a slice that goes ends its
 * Service's waiting, since its time is of an earlier change.
 */
#pragma once

#include "base/sorted.h"
#include "store/store.h"

struct nat_triggers {
    struct sorted services;  /* struct nat_trigger, by name */
    int64_t started_wall_ms; /* earlier ones do not count */
};

struct nat_trigger {
    char *namespace, *name; /* of the Service */
    int64_t wall_ms;
};

/* The agent starts now. */
void nat_triggers_init(struct nat_triggers *triggers);
void nat_triggers_done(struct nat_triggers *triggers);

/* Takes note of an object that changed. Returns 0 or -ENOMEM. */
int nat_triggers_saw(struct nat_triggers *triggers, const struct change *change);
/* Forgets the one at an index of `services`. */
void nat_triggers_forget(struct nat_triggers *triggers, size_t index);
