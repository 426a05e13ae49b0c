/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's documents: its status, and its metrics. */
#pragma once

#include "base/text.h"
#include "plan/request_waits.h"
#include "pools/desk.h"
#include "status/controller_status.h"
#include "status/refusals.h"
#include "store/store.h"

/* All borrowed. What jobs lend (controller/job.h) is known to who leads; NULL: it does not, or does
 * not do that. */
struct controller_state {
    const struct controller_status *status;
    const struct store *store;
    const struct pool_desk *desk;           /* who has which LoadBalancer address */
    const struct request_waits *waits;      /* why BlockRequests wait */
    const struct refusals *egress_refusals; /* what of Egresses' gateways can't be written */
};

/* GET /v1/controller: who leads, every job, what waits to be written and why. */
void view_controller(const struct controller_state *state, struct text *out);

/* Prometheus text format 0.0.4. */
void view_controller_metrics(const struct controller_state *state, struct text *out);
