/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a gateway goes out of service: pure. First the answers to probes tell clients to begin new
 * flows elsewhere, for as long as it takes all of them to hear it; then new flows are refused; and
 * when no connection is left, or egress.gateway.drain is over, all flows are told to go elsewhere.
 * Internal to engine/egress/.
 */
#pragma once

#include <stdint.h>

#include "apply/egress/gateway/gateway.h"
#include "plan/routes/route_inputs.h"

enum { EGRESS_DRAIN_TOLD_MS = 2000 }; /* by then all clients have asked once more */

struct egress_drain {
    enum egress_gate_phase phase;
    int64_t since_ms; /* monotonic; when it began to leave */
};

struct egress_drain_facts {
    enum standing standing;
    int64_t now_ms;       /* monotonic */
    int64_t lasts_ms;     /* egress.gateway.drain */
    uint64_t established; /* connections; read when new flows are refused */
};

/* Goes on as far as it may. Returns when it may go further; INT64_MAX: not by itself. */
int64_t egress_drain_follow(struct egress_drain *drain, const struct egress_drain_facts *facts);
