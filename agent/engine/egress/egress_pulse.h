/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heartbeat of a gateway's agent. Only the agent lets a new client in. While it does, it says
 * so in the maps, and the program's answers to probes say it to the clients' nodes
 * (bpf/egress/egress_probe.h), which send new pods elsewhere when it does not. Internal to
 * engine/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "base/fault.h"
#include "status/status.h"

struct egress_pulse {
    int64_t began_ms; /* monotonic; of this agent; 0: not yet */
};

/* Whether the source tells of new pods and Egresses now. */
bool egress_source_follows(const struct status *status);

/* `follows`: all that the source has told is in the maps, and it goes on. Else a fault says so when
 * the clients' nodes are told. */
void egress_pulse_look(struct egress_pulse *pulse, struct egress_gate *gate, bool follows,
                       int64_t now_ms, struct faults *faults);
