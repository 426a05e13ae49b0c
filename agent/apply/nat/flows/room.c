// SPDX-License-Identifier: Apache-2.0
/*
 * Whether there is room again for flows that were refused; see room.h. The programs count the
 * refusals, but without new connections nothing is refused, even if there is still no room.
 *
 * A source port is in use by the same rule as in the programs (bpf/flow/claim.h): if the flow that
 * has it takes precedence over a new one. The programs also skip ports of sockets of this node that
 * were opened later; those are not checked here.
 */
#include "apply/nat/flows/room.h"

#include <arpa/inet.h>

#include "apply/nat/flows/flows.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/table.h"
#include "apply/nat/services/filter.h"
#include "base/clock.h"
#include "base/macro.h"

enum {
    PORTS_AT_ONCE = 2048, /* some milliseconds */
    FEW = 32,             /* up to this number of slots, the programs may check each */
};

/* Whether a flow keeps its place when a new one needs it. */
static bool stays(const struct nat_datapath *datapath, const struct nat_tuple *key,
                  const struct nat_flow *flow, uint32_t now_s)
{
    struct nat_flow reverse;
    bool found = nat_flow_find_reverse(datapath, key, flow, &reverse);
    enum nat_state state = nat_flow_state(flow, found ? &reverse : flow, !found, key->protocol);
    uint32_t idle_s = nat_flow_idle(flow, now_s);
    if (found)
        idle_s = MIN(idle_s, nat_flow_idle(&reverse, now_s));
    if (idle_s > nat_timeout_s(datapath->control, flow, key->protocol, state))
        return false;
    return state == NAT_STATE_ESTABLISHED ||
           (state == NAT_STATE_STREAM &&
            idle_s <= nat_timeout_s(datapath->control, flow, key->protocol, NAT_STATE_EXCHANGE));
}

bool nat_datapath_port_is_taken(const struct nat_datapath *datapath, const struct nat_tuple *reply,
                                uint32_t now_s)
{
    struct nat_flow flow;
    if (nat_filter_has(datapath, &reply->dst, reply->dport)) /* a node port */
        return true;
    return nat_table_get(datapath, NAT_MAP_FLOWS, reply, &flow) == 0 &&
           nat_flow_whole(reply, &flow) && stays(datapath, reply, &flow, now_s);
}

enum nat_room nat_datapath_find_port(const struct nat_datapath *datapath,
                                     const struct packet_seen *refused, uint32_t *at)
{
    const struct nat_control *control = datapath->control;
    const uint32_t now_s = (uint32_t)(clock_mono_ms() / SECOND_MS);
    struct nat_tuple reply = {
        .src = nat_addr_of(&refused->destination),
        .dst = nat_addr_of(&refused->source),
        .sport = htons(refused->destination_port),
        .protocol = refused->protocol,
    };
    const uint32_t end = MIN(*at + PORTS_AT_ONCE, control->snat_count);
    for (; *at < end; ++*at) {
        reply.dport = htons((uint16_t)(control->snat_first + *at));
        if (!nat_datapath_port_is_taken(datapath, &reply, now_s))
            return NAT_ROOM_SOME;
    }
    return end < control->snat_count ? NAT_ROOM_NOT_KNOWN : NAT_ROOM_NONE;
}

bool nat_datapath_flows_fit(const struct nat_datapath *datapath)
{
    uint64_t states[NAT_STATES];
    const uint64_t slots = datapath->maps[NAT_MAP_RING].entries;
    nat_datapath_flow_states(datapath, states);
    return states[NAT_STATE_ESTABLISHED] + states[NAT_STATE_STREAM] + slots / FEW < slots;
}
