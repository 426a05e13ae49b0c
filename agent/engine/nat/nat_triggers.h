/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers: since when the cluster waits for this node to program a Service's endpoints. A trigger
 * is the earliest change that the Service's slices name (annotation
 * endpoints.kubernetes.io/last-change-trigger-time) and that is not in the maps yet. They feed
 * kube-proxy's metric network_programming_duration, by kube-proxy's rules: triggers from before the
 * agent's start do not count; the deletion of a slice ends the wait of its Service, because its
 * time belongs to an earlier change.
 */
#pragma once

#include "base/sorted.h"
#include "store/store.h"

struct nat_triggers {
    struct sorted services;  /* struct nat_trigger, by name */
    int64_t started_wall_ms; /* earlier triggers do not count */
};

struct nat_trigger {
    char *namespace, *name; /* of the Service */
    int64_t wall_ms;
};

/* Records that the agent starts now. */
void nat_triggers_init(struct nat_triggers *triggers);
void nat_triggers_done(struct nat_triggers *triggers);

/* Updates the triggers for an object that changed. Returns 0 or -ENOMEM. */
int nat_triggers_saw(struct nat_triggers *triggers, const struct change *change);
/* Forgets the trigger at an index of `services`. */
void nat_triggers_forget(struct nat_triggers *triggers, size_t index);
