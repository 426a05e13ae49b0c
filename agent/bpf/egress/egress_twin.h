/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gateway's twin: a packet of a client passes the steps of gateway_in(), without side effects:
 * no flow, no port, no count. The agent runs it by BPF_PROG_TEST_RUN and checks the resulting
 * packet; see "The gateway's twin" in egress_abi.h.
 *
 * It omits what writes: the search for a port. bpf_redirect_neigh() only records the target; a test
 * run sends nothing.
 */
#pragma once

#include <linux/pkt_cls.h>

#include "bpf/egress/egress_tunnel.h"
#include "bpf/nat/follow.h"

ALWAYS_INLINE int twin_tell(struct __sk_buff *skb, __u32 found, __u32 what)
{
    skb->cb[0] = found;
    skb->cb[1] = what;
    return SHOT;
}

/* The client's number in the maps; 0: it is none. */
ALWAYS_INLINE __u32 twin_client(const struct nat_addr *address)
{
    const struct egress_client_value *client = bpf_map_lookup_elem(&egress_clients, address);
    return client && client->check == nat_check(address, 0) ? client->id : 0;
}

/* The flow of a tuple, if it has not lost its client. */
ALWAYS_INLINE const struct nat_flow *twin_flow(const struct nat_tuple *tuple)
{
    const struct nat_flow *flow = flow_find(tuple);
    return flow && !egress_is_clientless(flow) ? flow : NULL;
}

static long twin_port_step(__u32 step, void *context)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    (void)context;
    if (!settings || !room || !room->claim.first)
        return 1;
    struct claim *claim = &room->claim;
    const struct egress_ports_value *ports = ports_of(claim->value.port);
    if (!ports)
        return 1;
    claim->done =
        port_put(settings, ports, (READ_ONCE(ports->next) + step) % claim->first, claim) &&
        !twin_flow(&claim->reply);
    return claim->done;
}

/* Writes the address and port that the next flow would get to `room->to`, if there is one. */
ALWAYS_INLINE __u32 twin_next_port(const struct egress_control *settings, struct scratch *room,
                                   __u32 client)
{
    const struct egress_ports_value *ports = ports_of(client);
    struct claim *claim = &room->claim;
    __builtin_memset(claim, 0, sizeof(*claim));
    tuple_reverse(&room->packet.tuple, &claim->reply);
    claim->family = room->packet.family;
    claim->value.port = client;
    claim->first = ports ? READ_ONCE(ports->count) * settings->block_size : 0;
    bpf_loop(claim->first < CLAIM_STEPS ? claim->first : CLAIM_STEPS, twin_port_step, NULL, 0);
    if (!claim->done)
        return EGRESS_TWIN_PORT_GIVEN;
    room->to.src = claim->reply.dst;
    room->to.sport = claim->reply.dport;
    return EGRESS_TWIN_PORT_NEXT;
}

/*
 * The tuple of a real packet after translation, `room->to`: that of its flow, or of a new one.
 * Returns enum egress_twin_port, or -cause.
 */
GLOBAL int twin_follow(__u32 client)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!settings || !room)
        return -EGRESS_CAUSE_NO_ROUTE;
    const struct packet *packet = &room->packet;
    const struct nat_flow *flow = twin_flow(&packet->tuple);
    if (flow && flow->half == NAT_HALF_FORWARD && flow->delivery != NAT_DELIVER_EGRESS)
        return -EGRESS_CAUSE_NESTED;
    if (flow && flow->half == NAT_HALF_FORWARD && flow->port == client &&
        !(may_begin_anew(packet) && begins_anew(packet, flow))) {
        room->to = flow->to;
        return EGRESS_TWIN_PORT_FLOW;
    }
    if (!client_may_have(client))
        return -EGRESS_CAUSE_DESTINATION;
    if (settings->flags & EGRESS_NO_NEW_FLOWS)
        return -EGRESS_CAUSE_DRAINING;
    return (int)twin_next_port(settings, room, client);
}

/* Parses the decapsulated packet. Returns 0 or -cause. */
ALWAYS_INLINE int twin_read(struct __sk_buff *skb, struct packet *packet, struct gateway_room *own)
{
    parse(skb, NAT_HOOK_UPLINK_IN, packet);
    if (has_icmp_head(packet)) {
        if (quote_read(skb, L3, &own->upper, &own->inner, &own->quoted) != INNER_PORTS)
            return -EGRESS_CAUSE_PROTOCOL;
        take_echo(packet, &own->inner);
        return 0;
    }
    return packet->shape == SHAPE_PORTS ? 0 : -EGRESS_CAUSE_MALFORMED;
}

/* Reports where replies are sent: into the client's tunnel. */
ALWAYS_INLINE void twin_tell_back(struct __sk_buff *skb, const struct nat_addr *own,
                                  const struct nat_addr *client, struct scratch *room)
{
    next_hops_forget(own, client);
    __u32 answer =
        gateway_ask(skb, room->packet.family, NEXT_HOP_FRAGMENT, own, client, &room->next_hop);
    skb->cb[4] = answer ? 0 : room->next_hop.fib.ifindex;
}

SEC("tc")
int gateway_twin(struct __sk_buff *skb)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    struct gateway_room *own = gateway_room_get();
    if (!settings || !room || !own)
        return SHOT;
    struct packet *packet = &room->packet;
    struct nat_addr snat = { 0 };
    __u32 live = skb->cb[1] & EGRESS_TWIN_LIVE, client = 0;
    parse(skb, NAT_HOOK_UPLINK_IN, packet);
    if (packet->shape == SHAPE_NONE || !is_wrapped_for(settings, packet))
        return twin_tell(skb, EGRESS_TWIN_NOT_OURS, 0);
    const struct nat_addr *source = source_numbered(settings, packet->family == 6, skb->cb[0]);
    if (source)
        snat = *source;
    next_hops_forget(&packet->tuple.dst, &snat);
    skb->cb[2] = gateway_ask(skb, packet->family, NEXT_HOP_FRAGMENT, &packet->tuple.dst, &snat,
                             &room->next_hop);
    skb->cb[3] = EGRESS_TWIN_PORT_GIVEN;
    if (live) {
        client = twin_client(&packet->tuple.src);
        if (!client)
            return twin_tell(skb, EGRESS_TWIN_DROPPED, EGRESS_CAUSE_STRANGER);
        twin_tell_back(skb, &packet->tuple.dst, &packet->tuple.src, room);
    }
    int r = take_inner(skb, settings, packet, own);
    if (r == 0)
        r = twin_read(skb, packet, own);
    if (r < 0)
        return twin_tell(skb, EGRESS_TWIN_DROPPED, (__u32)-r);
    if (is_zero(&snat))
        return twin_tell(skb, EGRESS_TWIN_DROPPED, EGRESS_CAUSE_NO_ROUTE);
    room->to = packet->tuple;
    room->to.src = snat;
    room->to.sport = bpf_htons(settings->snat_first);
    if (live) {
        r = twin_follow(client);
        if (r < 0)
            return twin_tell(skb, EGRESS_TWIN_DROPPED, (__u32)-r);
        skb->cb[3] = (__u32)r;
    }
    next_hops_forget(&room->to.src, &room->to.dst);
    if (gateway_find(skb, packet, &room->to.src, &room->to.dst, &room->next_hop))
        return twin_tell(skb, EGRESS_TWIN_NO_ROUTE, room->next_hop.answer);
    r = send_outside(skb);
    twin_tell(skb, r == TC_ACT_REDIRECT ? EGRESS_TWIN_SENT : EGRESS_TWIN_DROPPED,
              r == TC_ACT_REDIRECT ? room->next_hop.fib.ifindex : EGRESS_CAUSE_NO_ROUTE);
    return r;
}
