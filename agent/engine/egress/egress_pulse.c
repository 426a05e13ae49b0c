// SPDX-License-Identifier: Apache-2.0
/*
 * See egress_pulse.h. egress_upkeep.c calls it, and the heartbeat is a word of mapped memory. An
 * agent that has just started has time to learn of the cluster before it raises a fault: the
 * heartbeat in the maps may be as old as the last one of its predecessor.
 */
#include "engine/egress/egress_pulse.h"

#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "faults/egress.h"
#include "faults/raise.h"

static bool names_clients(const char *kind)
{
    return strcmp(kind, "Pod") == 0 || strcmp(kind, "Egress") == 0;
}

bool egress_source_follows(const struct status *status)
{
    const struct kube_status *kube = &status->source.kube;
    bool follows = status->source.synced;
    for (size_t i = 0; i < kube->count; i++)
        follows &= !names_clients(kube->kinds[i].kind) || kube->kinds[i].state == KUBE_WATCHING;
    return follows;
}

void egress_pulse_look(struct egress_pulse *pulse, struct egress_gate *gate, bool follows,
                       int64_t now_ms, struct faults *faults)
{
    if (!pulse->began_ms)
        pulse->began_ms = now_ms;
    if (follows)
        egress_gate_beat(gate, now_ms);
    const int64_t unheard_ms = MIN(egress_gate_unheard_ms(gate, now_ms), now_ms - pulse->began_ms);
    if (unheard_ms / SECOND_MS > EGRESS_STALE_S)
        fault_raise(faults, "egress.gateway", egress_gateway_not_following, 0);
}
