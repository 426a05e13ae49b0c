// SPDX-License-Identifier: Apache-2.0
/* Reads the live maps of egress; see seen.h. All of them are mapped arrays. */
#include "apply/egress/seen.h"

#include <arpa/inet.h>
#include <string.h>

#include "apply/egress/client/sets.h"
#include "apply/egress/datapath_inside.h"
#include "apply/egress/gateway/blocks.h"
#include "apply/egress/gateway/gateway_inside.h"
#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "base/clock.h"
#include "base/macro.h"

static struct egress_refusal refusal_of(enum egress_cause cause,
                                        const struct egress_drop_value *value)
{
    return (struct egress_refusal){
        .cause = cause,
        .count = value->count,
        .last = nat_packet_seen(&value->last, value->last_ns, value->ifindex),
    };
}

static size_t refusals_of(const struct egress_drop_value *drops, struct egress_refusal *ret)
{
    size_t count = 0;
    for (enum egress_cause cause = 0; cause < EGRESS_CAUSE_COUNT; cause++) {
        if (drops[cause].count)
            ret[count++] = refusal_of(cause, &drops[cause]);
    }
    return count;
}

size_t egress_datapath_refusals(const struct egress_datapath *datapath,
                                struct egress_refusal ret[static EGRESS_CAUSE_COUNT])
{
    return refusals_of(datapath->drops, ret);
}

size_t egress_gate_refusals(const struct egress_gate *gate,
                            struct egress_refusal ret[static EGRESS_CAUSE_COUNT])
{
    return refusals_of(gate->drops, ret);
}

uint64_t egress_datapath_sent(const struct egress_datapath *datapath, const char *egress,
                              const struct ip *gateway)
{
    const struct nat_addr addr = nat_addr_of(gateway);
    uint32_t set = egress_set_id(datapath, egress, gateway->family);
    const struct egress_gateway_value *places = &datapath->gateways[(size_t)set * EGRESS_SET_MAX];
    for (uint32_t i = 0; set && i < EGRESS_SET_MAX; i++) {
        if (places[i].word && memcmp(&places[i].addr, &addr, sizeof(addr)) == 0)
            return places[i].packets;
    }
    return 0;
}

bool egress_gate_client_use(const struct egress_gate *gate, const struct ip *address,
                            struct egress_client_use *ret_use)
{
    const struct installed_client key = { .address = *address };
    const struct installed_client *client = sorted_find(&gate->clients, &key);
    if (!client)
        return false;
    const struct egress_ports_value *ports = &gate->ports[client->id];
    *ret_use = (struct egress_client_use){
        .packets = ports->packets,
        .bytes = ports->bytes,
        .flows = ports->flows,
        .refused = ports->refused,
    };
    for (uint32_t i = 0; i < EGRESS_BLOCKS_MAX; i++) {
        uint32_t number = ports->blocks[i];
        if (number && number <= gate->block_limit)
            ret_use->blocks[ret_use->block_count++] = egress_block_of(
                gate, address->family == IP_V6, number - 1, gate->blocks[number - 1]);
    }
    return true;
}

static uint32_t blocks_used(const struct egress_gate *gate)
{
    uint32_t used = 0;
    for (uint32_t number = 0; number < gate->block_limit; number++)
        used += gate->blocks[number] != 0;
    return used;
}

static int64_t wall_of(int64_t mono_ms)
{
    return mono_ms ? clock_wall_ms() - (clock_mono_ms() - mono_ms) : 0;
}

static enum egress_phase phase_of(const struct egress_gate *gate)
{
    const uint32_t flags = gate->control->flags;
    if (flags & (EGRESS_GONE | EGRESS_LEAVING))
        return flags & EGRESS_GONE ? EGRESS_OUT_OF_SERVICE : EGRESS_LEAVING_SERVICE;
    return egress_gate_unheard_ms(gate, clock_mono_ms()) / SECOND_MS > EGRESS_STALE_S
               ? EGRESS_STALE_SERVICE
               : EGRESS_SERVING;
}

void egress_gate_use(const struct egress_gate *gate, struct egress_gateway_use *ret_use)
{
    const struct egress_control *control = gate->control;
    const struct egress_layout *layout = &gate->layout;
    *ret_use = (struct egress_gateway_use){
        .own = { nat_addr_ip(&control->own[0]), nat_addr_ip(&control->own[1]) },
        .first_port = layout->first_port,
        .last_port =
            (uint16_t)(layout->first_port + layout->address_blocks * layout->block_size - 1),
        .block = layout->block_size,
        .blocks = egress_layout_blocks(layout),
        .blocks_used = blocks_used(gate),
        .longest_search = gate->ports[0].longest,
        .flows = gate->nat->sweep.last.egress,
        .flows_wall_ms = wall_of(gate->nat->sweep.last_ms),
        .phase = phase_of(gate),
        .connections = egress_gate_established(gate),
    };
    for (int family = 0; family < 2; family++) {
        for (uint32_t place = 0; place < layout->used[family]; place++)
            ret_use->source[family][place] = layout->sources[family][place];
    }
}
