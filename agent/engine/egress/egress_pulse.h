/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heartbeat of a gateway's agent. Only the agent admits new clients. While it does so, it
 * writes a heartbeat to the maps, and the program reports it in its answers to probes
 * (bpf/egress/egress_probe.h). Without it, the clients' nodes send new pods to other gateways.
 * Internal to engine/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "base/fault.h"
#include "status/status.h"

struct egress_pulse {
    int64_t began_ms; /* monotonic; when this agent's heartbeat began; 0: not yet */
};

/* Whether the source reports new pods and Egresses at present. */
bool egress_source_follows(const struct status *status);

/* `follows`: all that the source has reported is in the maps, and it keeps reporting. Otherwise a
 * fault says so once the clients' nodes are notified. */
void egress_pulse_look(struct egress_pulse *pulse, struct egress_gate *gate, bool follows,
                       int64_t now_ms, struct faults *faults);
