/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's documents: its status, and its metrics. */
#pragma once

#include "base/text.h"
#include "plan/export/export_diff.h"
#include "plan/pods/request_waits.h"
#include "pools/allocator.h"
#include "status/controller_status.h"
#include "status/export_status.h"
#include "status/refusals.h"
#include "store/store.h"

/* What the job of exports lends. All borrowed. */
struct export_knowledge {
    const struct export_config *config;
    const struct export_plan *plan; /* NULL: nothing is known */
    const export_entries *seen;     /* what was read last; NULL: nothing yet */
    const struct export_target_status *target;
    struct export_hold hold;    /* what may go now */
    int64_t held_until_wall_ms; /* when what is held back may go; 0: nothing is */
};

/* All borrowed. What jobs lend (controller/job.h) is known to who leads; NULL: it does not, or does
 * not do that. */
struct controller_state {
    const struct controller_status *status;
    const struct store *store;
    const struct pool_allocator *allocator;      /* who has which LoadBalancer address */
    const struct request_waits *waits;           /* why BlockRequests wait */
    const struct refusals *egress_refusals;      /* what of Egresses' gateways can't be written */
    struct export_knowledge exports;             /* what is told to load balancers outside */
    const struct export_metrics *export_metrics; /* leader and follower alike; NULL: no exports */
};

/* GET /v1/controller: who leads, every job, what waits to be written and why. */
void view_controller(const struct controller_state *state, struct text *out);

/* Prometheus text format 0.0.4. */
void view_controller_metrics(const struct controller_state *state, struct text *out);
