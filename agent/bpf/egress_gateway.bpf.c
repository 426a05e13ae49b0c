// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An egress gateway: decapsulates the packets of its clients (encap.h), translates their source to
 * its own address and a port of the client, and forwards them; and replies in reverse.
 *
 * There is one program, gateway_in, at the ingress of each uplink, behind the NAT program. It
 * processes both directions: FoU from clients, and replies from outside to the address that it
 * translates to. A second one, gateway_twin (egress_twin.h), is not attached: the agent runs it.
 *
 * No packet of a client leaves untranslated: a packet that the program can't translate is dropped
 * with a cause. The inner source must be the outer one, and a client's; a flow begins only with a
 * destination that its client's Egresses have, as the client's own node has it (egress_prefix.h). A
 * segment of TCP that belongs to no flow is answered by a reset, so that clients whose gateway was
 * replaced reconnect at once.
 *
 * Probes (egress_probe.h) are answered by the same program.
 *
 * Flows are in the table of service NAT ("flows" in flow_abi.h), with the same states, timeouts and
 * limits; where both run on a node, neither can take a port of the other. A flow of egress has
 * NAT_DELIVER_EGRESS in both halves, no service, and its client's id as `port`.
 */
#include <linux/pkt_cls.h>

#include "bpf/egress/egress_owner.h"

#include "bpf/egress/egress_cut.h"
#include "bpf/egress/egress_make.h"
#include "bpf/egress/egress_probe.h"
#include "bpf/egress/egress_tunnel.h"
#include "bpf/egress/egress_twin.h"
#include "bpf/flow/fragment.h"
#include "bpf/nat/follow.h"
#include "bpf/packet/encap.h"
#include "bpf/packet/reset.h"

/* Answers a client's segment of no connection. */
GLOBAL int reset_client(struct __sk_buff *skb)
{
    struct scratch *room = scratch_get();
    if (!room)
        return SHOT;
    struct nat_addr client = room->packet.tuple.src;
    egress_count(skb, &room->packet.tuple, EGRESS_CAUSE_UNKNOWN);
    if (reset_make(skb, &room->packet) < 0)
        return SHOT;
    return send_to_client(skb, &client, room->packet.family);
}

/* Handles a client's packet that belongs to no flow. */
GLOBAL int begin_egress(struct __sk_buff *skb, __u32 client)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!settings || !room)
        return SHOT;
    struct packet *packet = &room->packet;
    if (packet->shape == SHAPE_LATER)
        return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_FRAGMENT);
    if (packet->tuple.protocol == IPPROTO_TCP && !is_opening(packet))
        return STEP_RESET;
    if (is_icmp(packet->tuple.protocol) && !packet->tuple.sport)
        return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_PROTOCOL); /* not answered */
    if (!client_may_have(client))
        return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_DESTINATION);
    if (settings->flags & EGRESS_NO_NEW_FLOWS)
        return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_DRAINING);
    int r = egress_make(skb, client);
    if (r == TAKEN) {
        const struct nat_flow *flow = flow_find(&packet->tuple);
        if (!flow || flow->half != NAT_HALF_FORWARD || flow->delivery != NAT_DELIVER_EGRESS)
            return SHOT;
        room->to = flow->to;
    } else if (r < 0) {
        struct egress_ports_value *ports = ports_of(client);
        if (ports)
            __sync_fetch_and_add(&ports->refused, 1);
        return egress_drop(skb, &packet->tuple, -r);
    }
    return STEP_SEND;
}

/*
 * Finds the flow of a client's packet. A flow of a client that had the address before does not
 * count.
 */
GLOBAL int follow_egress(struct __sk_buff *skb)
{
    struct scratch *room = scratch_get();
    const struct gateway_room *own = gateway_room_get();
    if (!room || !own)
        return SHOT;
    struct packet *packet = &room->packet;
    struct nat_flow *flow = flow_find(&packet->tuple);
    room->reopens = 0;
    if (!flow || flow->half != NAT_HALF_FORWARD)
        return STEP_BEGIN;
    if (flow->delivery !=
        NAT_DELIVER_EGRESS) /* of a Service, which clients do not reach through this gateway */
        return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_NESTED);
    __u32 now = clock_s(&room->clock);
    if (!is_flow_of(flow, own->client) || (may_begin_anew(packet) && begins_anew(packet, flow)) ||
        (flow->seen_s != now && flow_keep_reverse(&packet->tuple, flow) < 0)) {
        room->old = flow->to;
        room->reopens = 1;
        return STEP_BEGIN;
    }
    room->to = flow->to;
    note(skb, packet, flow, now);
    return STEP_SEND;
}

/*
 * Translates an ICMP error about a packet of a flow, for its sender. `quoted`: that packet's tuple
 * in the error. `outside`: the error is sent out, else to the client.
 */
SUBPROGRAM int translate_error(struct __sk_buff *skb, const struct nat_tuple *quoted, int outside)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!settings || !room)
        return SHOT;
    struct packet *packet = &room->packet;
    struct nat_tuple key, was;
    tuple_reverse(quoted, &key);
    const struct nat_flow *flow = flow_find(&key);
    if (!flow || flow->delivery != NAT_DELIVER_EGRESS || !has_client(flow) ||
        flow->half != (outside ? NAT_HALF_FORWARD : NAT_HALF_REPLY))
        return outside ? egress_drop(skb, &packet->tuple, EGRESS_CAUSE_UNKNOWN) : NEXT;
    tuple_reverse(&flow->to, &was);
    struct nat_addr src = outside ? flow->to.src : packet->tuple.src, dst = flow->to.dst;
    if (outside && gateway_find(skb, packet, &src, &dst, &room->next_hop))
        return SHOT;
    if (icmp_error_translate(skb, quoted, &was, &src, &dst) < 0)
        return SHOT;
    if (!outside)
        return send_to_client(skb, &dst, packet->family);
    return head_put(skb) < 0 ? SHOT : gateway_redirect(settings, &room->next_hop);
}

/* Parses a client's packet after decapsulation. */
GLOBAL int from_client(struct __sk_buff *skb, __u32 client)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    struct gateway_room *own = gateway_room_get();
    if (!control || !room || !own)
        return SHOT;
    struct packet *packet = &room->packet;
    parse(skb, NAT_HOOK_UPLINK_IN, packet);
    count_client(skb, client);
    if (has_icmp_head(packet)) {
        int shape = quote_read(skb, L3, &own->upper, &own->inner, &own->quoted);
        if (shape == INNER_ERROR)
            return STEP_ERROR;
        if (shape != INNER_PORTS)
            return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_PROTOCOL);
        take_echo(packet, &own->inner);
    }
    if (packet->shape == SHAPE_FIRST || packet->shape == SHAPE_LATER) {
        if (fragment_join(control, packet, NULL) != FRAGMENT_GOES || !has_ports(packet))
            return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_FRAGMENT);
    } else if (packet->shape != SHAPE_PORTS && packet->shape != SHAPE_ICMP) {
        return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_MALFORMED);
    }
    return STEP_FOLLOW;
}

/* Handles FoU for this gateway. */
GLOBAL int take_out(struct __sk_buff *skb)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    struct gateway_room *own = gateway_room_get();
    if (!settings || !room || !own)
        return SHOT;
    const struct packet *packet = &room->packet;
    const struct egress_client_value *client =
        bpf_map_lookup_elem(&egress_clients, &packet->tuple.src);
    if (!client || client->check != nat_check(&packet->tuple.src, 0))
        return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_STRANGER);
    __u32 id = client->id;
    int r = take_inner(skb, settings, packet, own);
    if (r < 0)
        return egress_drop(skb, r == -EGRESS_CAUSE_MALFORMED ? &packet->tuple : &own->inner, -r);
    own->client = id;
    return STEP_READ;
}

/*
 * An ICMP error of a router between the gateway and a client: becomes one about the inner packet,
 * for its sender. The MTU that it reports is cached; a sender that permits fragmentation needs no
 * error.
 */
GLOBAL int from_between(struct __sk_buff *skb)
{
    struct scratch *room = scratch_get();
    struct gateway_room *own = gateway_room_get();
    if (!room || !own)
        return SHOT;
    struct packet *packet = &room->packet;
    __u32 mtu = path_read(skb, packet, &own->sender);
    if (encap_error_take(skb, packet) < 0 ||
        quote_read(skb, L3, &own->upper, &own->inner, &own->quoted) != INNER_ERROR)
        return SHOT;
    if (!mtu || !addr_equal(&own->sender, &own->quoted.dst))
        return STEP_ERROR;
    tuple_reverse(&own->quoted, &own->inner);
    const struct nat_flow *flow = flow_find(&own->inner);
    if (!flow || flow->delivery != NAT_DELIVER_EGRESS || flow->half != NAT_HALF_FORWARD)
        return STEP_ERROR;
    path_put(&own->sender, mtu);
    return path_quotes_cuttable(skb, packet) ? SHOT : STEP_ERROR;
}

/* Handles a reply, or another packet to the source address of clients' packets. */
GLOBAL int from_outside(struct __sk_buff *skb)
{
    const struct nat_control *control = control_get();
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    struct gateway_room *own = gateway_room_get();
    if (!control || !settings || !room || !own)
        return NEXT;
    struct packet *packet = &room->packet;
    __u32 over = encap_room(packet->family);
    if (has_icmp_head(packet)) {
        if (encap_error_is(skb, packet, settings->port))
            return STEP_BETWEEN;
        int shape = quote_read(skb, L3, &own->upper, &own->inner, &own->quoted);
        if (shape == INNER_ERROR)
            return STEP_ERROR_BACK;
        if (shape != INNER_PORTS)
            return NEXT;
        take_echo(packet, &own->inner);
    }
    if (packet->shape == SHAPE_FIRST || packet->shape == SHAPE_LATER) {
        if (fragment_join(control, packet, NULL) != FRAGMENT_GOES || !has_ports(packet))
            return NEXT;
    } else if (packet->shape != SHAPE_PORTS && packet->shape != SHAPE_ICMP) {
        return NEXT;
    }
    struct nat_flow *flow = flow_find(&packet->tuple);
    if (!flow || flow->half != NAT_HALF_REPLY || flow->delivery != NAT_DELIVER_EGRESS ||
        !has_client(flow))
        return NEXT;
    __u32 client = flow->port;
    room->to = flow->to;
    __u32 size = next_hop_size(skb, packet) + over;
    gateway_ask(skb, packet->family, size, &settings->own[packet->family == 6], &room->to.dst,
                &room->next_hop);
    __u32 limit = path_limit(&room->next_hop, packet->family, &room->to.dst, size);
    if (size > limit) {
        packet->mtu = limit - over;
        if (may_cut(packet))
            return STEP_CUT;
        egress_count(skb, &packet->tuple, EGRESS_CAUSE_TOO_BIG);
        return ANSWER + ANSWER_TOO_BIG;
    }
    if (packet->hops <= 1) {
        egress_count(skb, &packet->tuple, EGRESS_CAUSE_TTL);
        return ANSWER + ANSWER_TIME_EXCEEDED;
    }
    note(skb, packet, flow, clock_s(&room->clock));
    count_client(skb, client);
    return STEP_GIVE_BACK;
}

/* Fragments a reply; the packet becomes the first fragment. The steps are those of
 * from_outside(). */
GLOBAL int cut_outside(struct __sk_buff *skb)
{
    struct scratch *room = scratch_get();
    if (!room)
        return SHOT;
    struct packet *packet = &room->packet;
    int r = cut(skb, packet->mtu);
    if (r == 0) {
        parse(skb, NAT_HOOK_UPLINK_IN, packet);
        r = from_outside(skb);
        return r == STEP_CUT ? SHOT : r;
    }
    egress_count(skb, &packet->tuple, EGRESS_CAUSE_TOO_BIG);
    return r == CUT_WHOLE ? ANSWER + ANSWER_TOO_BIG : SHOT;
}

/* Translates a packet whose flow from_outside() has found, and encapsulates it. */
GLOBAL int give_back(struct __sk_buff *skb)
{
    struct scratch *room = scratch_get();
    if (!room)
        return SHOT;
    struct packet *packet = &room->packet;
    struct nat_addr client = room->to.dst;
    if (limit_segments(skb, packet, &client) < 0)
        return SHOT;
    if (translate_any(skb, packet, &room->to) < 0 || hop_taken(skb, packet->family) < 0)
        return SHOT;
    return send_to_client(skb, &client, packet->family);
}

/* Answers a packet from outside by an ICMP error, to the router that has forwarded it. */
ALWAYS_INLINE int answer_outside(struct __sk_buff *skb, const struct nat_control *control,
                                 const struct egress_control *settings, const struct packet *packet,
                                 __u32 kind)
{
    if (!may_answer(control, &packet->tuple.src, packet->family) ||
        answer_with(skb, kind, packet->mtu) < 0)
        return SHOT;
    if (!L3 && is_by_route(settings, skb->ifindex))
        return head_put(skb) < 0 ? SHOT : (int)bpf_redirect_neigh(skb->ifindex, NULL, 0, 0);
    return (int)bpf_redirect(skb->ifindex, 0);
}

/* Runs the remaining steps for a client's packet. */
ALWAYS_INLINE int walk_out(struct __sk_buff *skb, const struct packet *packet, int step)
{
    struct gateway_room *own = gateway_room_get();
    if (!own)
        return SHOT;
    if (step == STEP_READ)
        step = from_client(skb, own->client);
    if (step == STEP_ERROR || step == STEP_ERROR_BACK)
        return translate_error(skb, &own->quoted, step == STEP_ERROR);
    if (step == STEP_FOLLOW)
        step = follow_egress(skb);
    if (step == STEP_BEGIN)
        step = begin_egress(skb, own->client);
    if (step == STEP_SEND)
        step = send_outside(skb);
    if (step == STEP_RESET)
        return reset_client(skb);
    if (step != STEP_TIME_EXCEEDED && step != STEP_TOO_BIG)
        return step;
    __u32 late = step == STEP_TIME_EXCEEDED;
    __u32 kind = late ? ANSWER_TIME_EXCEEDED : ANSWER_TOO_BIG;
    if (!may_answer_client(skb, kind, late ? EGRESS_CAUSE_TTL : EGRESS_CAUSE_TOO_BIG) ||
        answer_with(skb, kind, packet->mtu) < 0)
        return SHOT;
    return send_to_client(skb, &own->sender, packet->family);
}

SEC("tc")
int gateway_in(struct __sk_buff *skb)
{
    const struct nat_control *control = control_get();
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!control || !settings || !room || skb->pkt_type == PACKET_OTHERHOST)
        return NEXT;
    struct packet *packet = &room->packet;
    parse(skb, NAT_HOOK_UPLINK_IN, packet);
    if (packet->shape == SHAPE_NONE)
        return NEXT;
    const struct nat_addr *own = &settings->own[packet->family == 6];
    if (is_wrapped_for(settings, packet))
        return probe_is(skb, packet) ? probe_answer(skb) : walk_out(skb, packet, take_out(skb));
    int to_own = !is_zero(own) && addr_equal(&packet->tuple.dst, own);
    if (!(to_own && packet->shape == SHAPE_ICMP) &&
        !is_source(settings, packet->family == 6, &packet->tuple.dst))
        return NEXT;
    int r = from_outside(skb);
    if (r == STEP_BETWEEN)
        r = from_between(skb);
    if (r == STEP_CUT)
        r = cut_outside(skb);
    if (r == STEP_GIVE_BACK)
        return give_back(skb);
    if (r == STEP_ERROR || r == STEP_ERROR_BACK)
        return walk_out(skb, packet, r);
    return r >= ANSWER ? answer_outside(skb, control, settings, packet, r - ANSWER) : r;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
