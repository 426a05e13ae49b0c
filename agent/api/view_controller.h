/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's documents: its status, and its metrics. */
#pragma once

#include "base/text.h"
#include "status/controller_status.h"
#include "store/store.h"

/* All borrowed. */
struct controller_state {
    const struct controller_status *status;
    const struct store *store;
};

/* GET /v1/controller: who leads, every job, what waits to be written and why. */
void view_controller(const struct controller_state *state, struct text *out);

/* Prometheus text format 0.0.4. */
void view_controller_metrics(const struct controller_state *state, struct text *out);
