// SPDX-License-Identifier: Apache-2.0
/*
 * See egress_room.h. egress_upkeep.c looks; the counters are in mapped memory.
 * A fault stays for some seconds after the last refusal, since clients try again with pauses.
 */
#include "engine/egress/egress_room.h"

#include "apply/egress/seen.h"

enum { KEPT_MS = 10 * 1000 };

static const struct {
    enum egress_cause cause;
    const char *message, *remedy;
} kinds[EGRESS_ROOM_CAUSES] = {
    { EGRESS_CAUSE_PORTS, "each of its source ports has a connection there that lives",
      "raise egress.gateway.blocksPerClient, widen egress.gateway.ports, or name more "
      "egress.gateway.addresses" },
    { EGRESS_CAUSE_BLOCKS, "no block of source ports is left",
      "widen egress.gateway.ports, name more egress.gateway.addresses, or have another gateway" },
    { EGRESS_CAUSE_FLOWS_FULL, "the table is full of flows that live",
      "raise services.maps.flows in agentd.yaml" },
};

static const struct egress_refusal *refusal_of(const struct egress_refusal *list, size_t count,
                                               enum egress_cause cause)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].cause == cause)
            return &list[i];
    }
    return NULL;
}

static void tell(const struct egress_refusal *refusal, size_t kind, struct faults *faults)
{
    const struct packet_seen *last = &refusal->last;
    char source[IP_STRLEN], destination[IP_STRLEN];
    faults_add(faults, "egress.gateway", kinds[kind].remedy,
               "new connections are refused, as of %s to %s port %u: %s",
               ip_str(&last->source, source), ip_str(&last->destination, destination),
               last->destination_port, kinds[kind].message);
}

void egress_room_look(struct egress_room *room, const struct egress_gate *gate, int64_t now_ms,
                      struct faults *faults)
{
    struct egress_refusal list[EGRESS_CAUSE_COUNT];
    size_t count = egress_gate_refusals(gate, list);
    for (size_t i = 0; i < EGRESS_ROOM_CAUSES; i++) {
        const struct egress_refusal *refusal = refusal_of(list, count, kinds[i].cause);
        uint64_t refused = refusal ? refusal->count : 0;
        if (room->looked && refused != room->refused[i])
            room->last_ms[i] = now_ms;
        room->refused[i] = refused;
        if (refusal && room->last_ms[i] && now_ms - room->last_ms[i] < KEPT_MS)
            tell(refusal, i, faults);
    }
    room->looked = true;
}
