/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a gateway leaves service: pure. First the answers to probes tell clients to begin new flows
 * at other gateways, until all clients have received such an answer. Then new flows are refused.
 * When no connection is left, or egress.gateway.drain has elapsed, the answers move all flows to
 * other gateways. Internal to engine/egress/.
 */
#pragma once

#include <stdint.h>

#include "apply/egress/gateway/gateway.h"
#include "plan/routes/route_inputs.h"

enum { EGRESS_DRAIN_TOLD_MS = 2000 }; /* by then all clients have probed again */

struct egress_drain {
    enum egress_gate_phase phase;
    int64_t since_ms; /* monotonic; when the drain began */
};

struct egress_drain_facts {
    enum standing standing;
    int64_t now_ms;       /* monotonic */
    int64_t lasts_ms;     /* egress.gateway.drain, the longest duration */
    uint64_t established; /* connections; read when new flows are refused */
};

/*
 * Advances the drain as far as possible. Returns when it may advance again; INT64_MAX: not without
 * another event.
 */
int64_t egress_drain_follow(struct egress_drain *drain, const struct egress_drain_facts *facts);
