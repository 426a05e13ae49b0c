// SPDX-License-Identifier: Apache-2.0
/*
 * See egress_room.h. egress_upkeep.c calls it; the counters are in mapped memory. A fault lasts as
 * long as its cause, and not only while clients send: when none was refused for a while, the maps
 * are searched for room.
 */
#include "engine/egress/egress_room.h"

#include "apply/egress/gateway/room.h"
#include "apply/egress/seen.h"
#include "faults/egress.h"
#include "faults/raise.h"

enum { KEPT_MS = 10 * 1000 };

static const char place[] = "egress.gateway";

static const enum egress_cause causes[EGRESS_ROOM_CAUSES] = {
    EGRESS_CAUSE_PORTS,
    EGRESS_CAUSE_BLOCKS,
    EGRESS_CAUSE_FLOWS_FULL,
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

/* A client keeps its first block for as long as its pod lives. */
static void tell_blocks(const struct egress_gate *gate, const struct packet_seen *last,
                        struct faults *faults)
{
    struct egress_holders holders;
    char source[IP_STRLEN], destination[IP_STRLEN], most[IP_STRLEN];
    egress_gate_holders(gate, &holders);
    const bool idle = holders.idle * 2 > holders.clients;
    const bool crowded = !idle && holders.blocks > holders.clients * 2;
    fault_raise(
        faults, place, egress_gateway_blocks_exhausted, .source = ip_str(&last->source, source),
        .destination = ip_str(&last->destination, destination), .port = last->destination_port,
        .blocks = holders.blocks, .clients = holders.clients, .idle = holders.idle,
        .most_address = ip_str(&holders.address, most), .most = holders.most,
        .idlers = idle ? holders.idle : 0, .taken = crowded ? holders.blocks : 0);
}

static void tell(const struct egress_gate *gate, const struct egress_refusal *refusal,
                 struct faults *faults)
{
    const struct packet_seen *last = &refusal->last;
    char source[IP_STRLEN], destination[IP_STRLEN];
    ip_str(&last->source, source);
    ip_str(&last->destination, destination);
    if (refusal->cause == EGRESS_CAUSE_BLOCKS)
        tell_blocks(gate, last, faults);
    else if (refusal->cause == EGRESS_CAUSE_PORTS)
        fault_raise(faults, place, egress_gateway_ports_exhausted, .source = source,
                    .destination = destination, .port = last->destination_port);
    else
        fault_raise(faults, place, egress_gateway_flows_full, .source = source,
                    .destination = destination, .port = last->destination_port);
}

/* Whether there is no room. The last result holds until the maps have been searched completely. */
static bool lasts(struct egress_room *room, size_t kind, const struct egress_gate *gate,
                  const struct egress_refusal *refusal, int64_t now_ms)
{
    if (!room->last_ms[kind] || now_ms - room->last_ms[kind] < KEPT_MS) {
        room->at[kind] = 0;
        return room->last_ms[kind] != 0;
    }
    const enum nat_room found = egress_gate_find_room(gate, refusal, &room->at[kind]);
    if (found != NAT_ROOM_NOT_KNOWN)
        room->last_ms[kind] = found == NAT_ROOM_SOME ? 0 : now_ms;
    return found != NAT_ROOM_SOME;
}

void egress_room_look(struct egress_room *room, const struct egress_gate *gate, int64_t now_ms,
                      struct faults *faults)
{
    struct egress_refusal list[EGRESS_CAUSE_COUNT];
    size_t count = egress_gate_refusals(gate, list);
    for (size_t i = 0; i < EGRESS_ROOM_CAUSES; i++) {
        const struct egress_refusal *refusal = refusal_of(list, count, causes[i]);
        uint64_t refused = refusal ? refusal->count : 0;
        if (room->looked && refused != room->refused[i])
            room->last_ms[i] = now_ms;
        room->refused[i] = refused;
        if (refusal && lasts(room, i, gate, refusal, now_ms))
            tell(gate, refusal, faults);
    }
    room->looked = true;
}
