// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a gateway has room again for connections that it refused; see room.h. As for Services
 * (apply/nat/flows/room.h), the program counts the refusals, and there may be room again without
 * any new connection. A client that was removed needs no room.
 */
#include "apply/egress/gateway/room.h"

#include <arpa/inet.h>

#include "apply/egress/gateway/gateway_inside.h"
#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "base/clock.h"
#include "base/macro.h"

enum { PORTS_AT_ONCE = 2048 };

/* A block that the program would allocate to a client of this family. */
static bool has_free_block(const struct egress_gate *gate, int family)
{
    const struct egress_layout *layout = &gate->layout;
    for (uint32_t number = 0; number < gate->block_limit; number++) {
        if (!gate->blocks[number] &&
            egress_layout_address(layout, family, number).family != IP_NONE)
            return true;
    }
    return false;
}

static uint32_t block_count(const struct egress_ports_value *ports)
{
    uint32_t count = 0;
    while (count < EGRESS_BLOCKS_MAX && ports->blocks[count])
        count++;
    return count;
}

/* Makes the n-th of a client's ports the destination of a reply. */
static void put_port(const struct egress_gate *gate, const struct egress_ports_value *ports,
                     int family, uint32_t n, struct nat_tuple *reply)
{
    const struct egress_layout *layout = &gate->layout;
    const uint32_t number = ports->blocks[n / layout->block_size] - 1u;
    const struct ip source = egress_layout_address(layout, family, number);
    reply->dst = nat_addr_of(&source);
    reply->dport =
        htons((uint16_t)(layout->first_port + number % layout->address_blocks * layout->block_size +
                         n % layout->block_size));
}

static enum nat_room find_port(const struct egress_gate *gate,
                               const struct egress_ports_value *ports,
                               const struct packet_seen *refused, uint32_t *at)
{
    const int family = refused->source.family == IP_V6;
    const uint32_t count = block_count(ports) * gate->layout.block_size;
    const uint32_t now_s = (uint32_t)(clock_mono_ms() / SECOND_MS);
    struct nat_tuple reply = {
        .src = nat_addr_of(&refused->destination),
        .sport = htons(refused->destination_port),
        .protocol = refused->protocol,
    };
    const uint32_t end = MIN(*at + PORTS_AT_ONCE, count);
    for (; *at < end; ++*at) {
        put_port(gate, ports, family, *at, &reply);
        if (!nat_datapath_port_is_taken(gate->nat, &reply, now_s))
            return NAT_ROOM_SOME;
    }
    return end < count ? NAT_ROOM_NOT_KNOWN : NAT_ROOM_NONE;
}

/* Whether a client has room: a block that it may still get, or a free port of its own. */
static enum nat_room find_for_client(const struct egress_gate *gate,
                                     const struct packet_seen *refused, uint32_t *at)
{
    const struct installed_client key = { .address = refused->source };
    const struct installed_client *client = sorted_find(&gate->clients, &key);
    if (!client)
        return NAT_ROOM_SOME;
    const struct egress_ports_value *ports = &gate->ports[client->id];
    const uint32_t most = MIN(gate->control->client_blocks, (uint32_t)EGRESS_BLOCKS_MAX);
    if (block_count(ports) < most && has_free_block(gate, refused->source.family == IP_V6))
        return NAT_ROOM_SOME;
    return find_port(gate, ports, refused, at);
}

enum nat_room egress_gate_find_room(const struct egress_gate *gate,
                                    const struct egress_refusal *refusal, uint32_t *at)
{
    bool has_room = true;
    if (refusal->cause == EGRESS_CAUSE_PORTS)
        return find_for_client(gate, &refusal->last, at);
    if (refusal->cause == EGRESS_CAUSE_BLOCKS)
        has_room = has_free_block(gate, refusal->last.source.family == IP_V6);
    else if (refusal->cause == EGRESS_CAUSE_FLOWS_FULL)
        has_room = nat_datapath_flows_fit(gate->nat);
    return has_room ? NAT_ROOM_SOME : NAT_ROOM_NONE;
}
