// SPDX-License-Identifier: Apache-2.0
/*
 * How a gateway leaves service; see egress_drain.h. A node that is drained passes from
 * STANDING_DRAINING to STANDING_WITHDRAWN by the times of routes.drain; its gateway, which has
 * begun to leave by then, keeps its own times. A gateway whose node is withdrawn without a drain
 * leaves at once.
 */
#include "engine/egress/egress_drain.h"

#include "base/macro.h"

enum { LOOK_MS = 250 }; /* between two checks of the remaining connections */

static void begin(struct egress_drain *drain, enum egress_gate_phase phase, int64_t now_ms)
{
    drain->phase = phase;
    drain->since_ms = now_ms;
}

int64_t egress_drain_follow(struct egress_drain *drain, const struct egress_drain_facts *facts)
{
    const int64_t now_ms = facts->now_ms;
    if (facts->standing == STANDING_SERVING)
        drain->phase = EGRESS_GATE_OPEN;
    else if (facts->standing == STANDING_GONE)
        drain->phase = EGRESS_GATE_GONE;
    else if (drain->phase == EGRESS_GATE_OPEN)
        begin(drain, facts->standing == STANDING_DRAINING ? EGRESS_GATE_LEAVING : EGRESS_GATE_GONE,
              now_ms);
    const int64_t told_ms = drain->since_ms + EGRESS_DRAIN_TOLD_MS;
    const int64_t end_ms = drain->since_ms + MAX(facts->lasts_ms, (int64_t)EGRESS_DRAIN_TOLD_MS);
    if (drain->phase == EGRESS_GATE_LEAVING && now_ms >= told_ms)
        drain->phase = EGRESS_GATE_CLOSED;
    if (drain->phase == EGRESS_GATE_CLOSED && (facts->established == 0 || now_ms >= end_ms))
        drain->phase = EGRESS_GATE_GONE;
    if (drain->phase == EGRESS_GATE_LEAVING)
        return told_ms;
    return drain->phase == EGRESS_GATE_CLOSED ? MIN(now_ms + LOOK_MS, end_ms) : INT64_MAX;
}
