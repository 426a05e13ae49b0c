// SPDX-License-Identifier: Apache-2.0
/*
 * See egress_room.h. egress_upkeep.c looks; the counters are in mapped memory.
 * A fault stays for some seconds after the last refusal, since clients try again with pauses.
 */
#include "engine/egress/egress_room.h"

#include <stdio.h>

#include "apply/egress/seen.h"

enum { KEPT_MS = 10 * 1000 };

static const struct {
    enum egress_cause cause;
    const char *message, *remedy;
} kinds[EGRESS_ROOM_CAUSES] = {
    { EGRESS_CAUSE_PORTS, "each of its source ports has a connection there that lives",
      "raise egress.gateway.blocksPerClient, widen egress.gateway.ports, or name more "
      "egress.gateway.addresses" },
    { EGRESS_CAUSE_BLOCKS, NULL, NULL },
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

#define MORE_BLOCKS \
    "widen egress.gateway.ports, name more egress.gateway.addresses, or have another gateway"

/* A client keeps its first block for as long as its pod lives. */
static void tell_blocks(const struct egress_gate *gate, const char *refused, struct faults *faults)
{
    struct egress_holders holders;
    char most[IP_STRLEN];
    egress_gate_holders(gate, &holders);
    const char *remedy =
        holders.idle * 2 > holders.clients
            ? "make egress.gateway.portBlock smaller, so that idle clients keep fewer ports; "
              "or " MORE_BLOCKS
        : holders.blocks > holders.clients * 2
            ? "see who has them (agentctl egress --ports), lower egress.gateway.blocksPerClient; "
              "or " MORE_BLOCKS
            : MORE_BLOCKS;
    faults_add(faults, "egress.gateway", remedy,
               "%s: no block of source ports is left: %u are of %u client%s, %u of them idle; %s "
               "has %u",
               refused, holders.blocks, holders.clients, holders.clients == 1 ? "" : "s",
               holders.idle, ip_str(&holders.address, most), holders.most);
}

static void tell(const struct egress_gate *gate, const struct egress_refusal *refusal, size_t kind,
                 struct faults *faults)
{
    const struct packet_seen *last = &refusal->last;
    char source[IP_STRLEN], destination[IP_STRLEN];
    char refused[160];
    (void)snprintf(refused, sizeof(refused), "new connections are refused, as of %s to %s port %u",
                   ip_str(&last->source, source), ip_str(&last->destination, destination),
                   last->destination_port);
    if (kinds[kind].cause == EGRESS_CAUSE_BLOCKS)
        tell_blocks(gate, refused, faults);
    else
        faults_add(faults, "egress.gateway", kinds[kind].remedy, "%s: %s", refused,
                   kinds[kind].message);
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
            tell(gate, refusal, i, faults);
    }
    room->looked = true;
}
