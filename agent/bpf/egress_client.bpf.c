// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The client side of egress: packets of pods that leave the cluster through gateways.
 *
 * There are two programs, on the host's end of each pod that may have to use a gateway. They run
 * behind the NAT program, which has handled packets to Services. A third one is on uplinks, where
 * unknown pods are held.
 *
 *   client_in    ingress: packets from the pod. A packet for a gateway gets outer headers from the
 *                pod's address to the gateway's (encap.h).
 *   client_out   egress: packets to the pod. Replies of gateways are decapsulated.
 *   client_guard egress of uplinks: holds packets from interfaces that are so new that no
 *                client_in is attached yet.
 *
 * A packet with a pod's source is accepted only from the pod's own interface (egress_by.h), also if
 * the pod has encapsulated it; and no other pod can send replies of a gateway.
 *
 * A flow keeps its first gateway (egress_pin.h). The replies of a flow that began outside take the
 * path by which it came. FoU from a sender that is no gateway of the pod is not changed: the pod
 * may have tunnels of its own.
 *
 * A packet that is too large for the path to its gateway is fragmented (egress_cut.h), or answered
 * by an ICMP error with the MTU. The MSS of TCP is limited from the start (mss.h).
 *
 * With dry_run client_in is the client's twin ("The client's twin" in egress_abi.h): it writes no
 * map, and reports its result at the end.
 */
#include "bpf/egress/egress_by.h"
#include "bpf/egress/egress_cut.h"
#include "bpf/egress/egress_fragment.h"
#include "bpf/egress/egress_inbound.h"
#include "bpf/egress/egress_path.h"
#include "bpf/packet/encap.h"
#include "bpf/packet/mss.h"
#include "bpf/packet/reject.h"
#include "bpf/packet/tuple.h"
#include "bpf/route/next_hops.h"

enum {
    TOO_BIG = 100, /* no verdict: the packet is larger than packet->mtu */
};

/* ---- packets from a pod ---- */

/* The outer source port: FoU's own, or one that follows from the flow (as the kernel's automatic
 * ones do), so that the fabric spreads flows. */
ALWAYS_INLINE __be16 outer_port(const struct egress_control *control, const struct room *room)
{
    __u32 set = room->pin.gateway / EGRESS_SET_MAX;
    const __u64 *word = bpf_map_lookup_elem(&egress_sets, &set);
    if (!word || !(READ_ONCE(*word) & EGRESS_SET_AUTO) || !control->auto_count)
        return control->port;
    return bpf_htons(control->auto_first + (__u32)tuple_mix(&room->key) % control->auto_count);
}

/*
 * To a gateway on this node: without fragmentation, and without a tunnel's marks (encap.h). Either
 * its pod receives the packet at once, at the other end of the veth of the route, or this node
 * itself is the gateway, and receives it on lo.
 */
SUBPROGRAM int send_nearby(struct __sk_buff *skb, struct room *room)
{
    const struct egress_control *control = egress_control_get();
    const struct packet *packet = &room->packet;
    const struct bpf_fib_lookup *fib = &room->next_hop.fib;
    if (!control)
        return SHOT;
    if (encap_put_unmarked(skb, packet->family, &packet->tuple.src, &room->gateway,
                           outer_port(control, room), control->port) < 0)
        return refuse(skb, room, EGRESS_CAUSE_OFFLOAD);
    if (room->next_hop.answer) {
        int r = next_hop_receive(skb, LO_IFINDEX, NULL);
        return r < 0 ? SHOT : r;
    }
    if (bpf_skb_store_bytes(skb, 0, fib->dmac, ETH_ALEN, 0) ||
        bpf_skb_store_bytes(skb, ETH_ALEN, fib->smac, ETH_ALEN, 0))
        return SHOT;
    return (int)bpf_redirect_peer(fib->ifindex, 0);
}

/* Sends the packet to `room->gateway`; or returns TOO_BIG. */
SUBPROGRAM int send_to_gateway(struct __sk_buff *skb, struct room *room)
{
    const struct egress_control *control = egress_control_get();
    struct packet *packet = &room->packet;
    struct bpf_fib_lookup *fib = &room->next_hop.fib;
    __u32 over = encap_room(packet->family);
    if (!control)
        return SHOT;
    if (is_syn(packet)) {
        __u32 mtu =
            next_hop_mtu(skb, packet->family, &packet->tuple.src, &room->gateway, &room->next_hop);
        mtu = path_narrow(&room->gateway, mtu);
        if (mtu > over && mss_clamp(skb, packet, mtu - over) < 0)
            return SHOT;
    }
    __u32 size = next_hop_size(skb, packet) + over;
    if (dry_run)
        next_hops_forget(&packet->tuple.src, &room->gateway);
    next_hops_ask(skb, packet->family, size, &packet->tuple.src, &room->gateway, &room->next_hop);
    __u32 limit = path_limit(&room->next_hop, packet->family, &room->gateway, size);
    if (size > limit) {
        packet->mtu = limit - over;
        return TOO_BIG;
    }
    int here = room->next_hop.answer == BPF_FIB_LKUP_RET_NOT_FWDED; /* an address of this node */
    if (room->next_hop.answer && !here)
        return refuse(skb, room, EGRESS_CAUSE_NO_ROUTE);
    if (dry_run)
        room->told.out = here ? LO_IFINDEX : fib->ifindex;
    note(room, here ? EGRESS_TOLD_HERE : 0);
    struct egress_gateway_value *gateway = gateway_at(room->pin.gateway);
    if (gateway) {
        if (!dry_run)
            __sync_fetch_and_add(&gateway->packets, 1);
        here |= gateway->word & EGRESS_GATEWAY_PEER && !room->next_hop.unresolved;
    }
    if (here)
        return send_nearby(skb, room);
    if (encap_put(skb, packet->family, &packet->tuple.src, &room->gateway,
                  outer_port(control, room), control->port) < 0)
        return refuse(skb, room, EGRESS_CAUSE_OFFLOAD);
    return next_hop_redirect(&room->next_hop, is_by_route(control, fib->ifindex));
}

/* A later fragment follows its first one. */
ALWAYS_INLINE int send_fragment(struct __sk_buff *skb, struct room *room)
{
    __u32 index;
    if (!fragment_find(&room->packet.tuple, room->packet.family, room->packet.fragment,
                       FRAGMENT_SENT, &index))
        return refuse(skb, room, EGRESS_CAUSE_FRAGMENT);
    if (index == EGRESS_PIN_INBOUND)
        return NEXT;
    const struct egress_gateway_value *gateway = gateway_at(index);
    if (!gateway)
        return SHOT;
    room->pin.gateway = index;
    room->gateway = gateway->addr;
    return send_to_gateway(skb, room);
}

/* Handles a packet of a flow that began outside. */
ALWAYS_INLINE int go_straight(struct room *room)
{
    const struct packet *packet = &room->packet;
    note(room, EGRESS_TOLD_INBOUND);
    if (packet->first && !dry_run)
        fragment_put(&packet->tuple, packet->family, packet->fragment, FRAGMENT_SENT,
                     EGRESS_PIN_INBOUND);
    return NEXT;
}

/* `inbound`: the pod has received flows from outside. */
SUBPROGRAM int leave_cluster(struct __sk_buff *skb, struct room *room, __u32 set, __u32 inbound)
{
    struct packet *packet = &room->packet;
    int r = key_of(skb, room);
    if (r < 0)
        return refuse(skb, room, -r);
    if (packet->shape == SHAPE_LATER)
        return send_fragment(skb, room);
    if (inbound && room->manner == MANNER_ANSWERS) {
        if (!dry_run && packet->tuple.protocol == IPPROTO_TCP)
            pin_forget(&room->key);
        return go_straight(room);
    }
    r = pin_find(room, set);
    if (r == PINNED_STRAIGHT || (r == PINNED_NOT && inbound && room->manner != MANNER_OPENS))
        return go_straight(room);
    if (r == PINNED_NOT && !pin_make(room, set))
        return refuse(skb, room, EGRESS_CAUSE_NO_GATEWAY);
    if (packet->first && !dry_run)
        fragment_put(&packet->tuple, packet->family, packet->fragment, FRAGMENT_SENT,
                     room->pin.gateway);
    return send_to_gateway(skb, room);
}

/* Fragments a packet that is TOO_BIG, or answers the pod, by the interface by which it entered. */
SUBPROGRAM int leave_in_fragments(struct __sk_buff *skb, struct room *room, __u32 set,
                                  __u32 inbound)
{
    struct packet *packet = &room->packet;
    int r = may_cut(packet) ? cut(skb, packet->mtu) : CUT_WHOLE;
    if (r == 0) {
        parse(skb, NAT_HOOK_POD_IN, packet);
        r = leave_cluster(skb, room, set, inbound);
        return r == TOO_BIG ? SHOT : r;
    }
    egress_count(skb, &packet->tuple, EGRESS_CAUSE_TOO_BIG);
    if (r != CUT_WHOLE || answer_with(skb, ANSWER_TOO_BIG, packet->mtu) < 0)
        return SHOT;
    return (int)bpf_redirect(skb->ifindex, 0);
}

/* Whether a pod's packet is already encapsulated. */
ALWAYS_INLINE int is_wrapped(const struct egress_control *control, const struct packet *packet)
{
    return encap_is(&packet->tuple, control->port) &&
           (packet->shape == SHAPE_PORTS || packet->shape == SHAPE_FIRST);
}

/*
 * A packet that a pod itself encapsulates for a gateway bypasses its policy: it is dropped. Where
 * it is permitted, as for Coil's clients, the replies of its gateways are left to the pod as well.
 * A gateway identifies a client by the outer source, and a client a gateway: it must not be another
 * pod's. Returns a verdict, or 0: the packet is neither for a gateway nor from one.
 */
SUBPROGRAM int judge_wrapped(struct __sk_buff *skb, struct room *room, __u32 flags)
{
    const struct nat_tuple *tuple = &room->packet.tuple;
    struct egress_pod_value *pod = pod_find(&tuple->src);
    int wrapped = bpf_map_lookup_elem(&egress_doors, &tuple->dst) != NULL;
    if (!wrapped && !bpf_map_lookup_elem(&egress_doors, &tuple->src))
        return 0;
    if (wrapped && !(flags & EGRESS_POD_TUNNELS))
        return refuse(skb, room, EGRESS_CAUSE_POD_TUNNEL);
    if (!came_by_own(skb, room, pod))
        return refuse(skb, room, EGRESS_CAUSE_SOURCE);
    if (!wrapped)
        return 0;
    if (pod && !dry_run && !(READ_ONCE(pod->traits) & EGRESS_POD_WRAPS))
        __sync_fetch_and_or(&pod->traits, EGRESS_POD_WRAPS);
    return NEXT;
}

/* The verdict on a pod's packet, which was parsed. */
ALWAYS_INLINE int walk(struct __sk_buff *skb, const struct egress_control *control,
                       struct room *room)
{
    const struct packet *packet = &room->packet;
    int stays;
    const struct nat_addr *dst = &packet->tuple.dst;
    struct egress_pod_value *pod = pod_find(&packet->tuple.src);
    int r = is_wrapped(control, packet) ? judge_wrapped(skb, room, control->flags) : 0;
    if (r)
        return r;
    if (!pod) {
        if (!(control->flags & EGRESS_HOLD_UNKNOWN) || excluded_find(dst, packet->family))
            return NEXT;
        return refuse(skb, room, EGRESS_CAUSE_HELD);
    }
    __u32 held = pod->flags & EGRESS_POD_HELD;
    room->shunned = pod->flags & EGRESS_POD_NEW ? EGRESS_GATEWAY_STALE : 0;
    __u32 set = set_find(pod->policy, dst, packet->family, &stays);
    if (!set && pod->policy)
        set = (__u32)set_kept(room, pod->policy);
    if (dry_run)
        room->told.set = set;
    if (held && (set || !stays))
        return refuse(skb, room, EGRESS_CAUSE_HELD);
    if (set && (!by_known_port(skb, pod) || !came_by_own(skb, room, pod)))
        return refuse(skb, room, EGRESS_CAUSE_SOURCE);
    __u32 inbound = READ_ONCE(pod->traits) & EGRESS_POD_INBOUND;
    r = set ? leave_cluster(skb, room, set, inbound) : NEXT;
    if (dry_run && r == TOO_BIG)
        return refuse(skb, room, EGRESS_CAUSE_TOO_BIG);
    return r == TOO_BIG ? leave_in_fragments(skb, room, set, inbound) : r;
}

SEC("tc")
int client_in(struct __sk_buff *skb)
{
    const struct egress_control *control = egress_control_get();
    struct room *room = room_get();
    if (!control || !room)
        return NEXT;
    parse(skb, NAT_HOOK_POD_IN, &room->packet);
    if (room->packet.shape == SHAPE_NONE)
        return is_tagged_twice(skb) ? refuse(skb, room, EGRESS_CAUSE_MALFORMED) : NEXT;
    room->translated = skb->tc_index == NAT_TRANSLATED ? EGRESS_PIN_TRANSLATED : 0;
    if (room->translated)
        skb->tc_index = 0;
    if (dry_run)
        begin_to_tell(room);
    int r = walk(skb, control, room);
    if (dry_run)
        tell(skb, room, r);
    return r;
}

/* ---- packets to a pod ---- */

/* Whether the sender of a reply is this gateway; and whether service NAT has to see the reply. */
ALWAYS_INLINE int is_from_gateway(struct room *room, __u32 index)
{
    const struct egress_gateway_value *gateway = gateway_at(index & EGRESS_PIN_GATEWAY);
    room->translated = index & EGRESS_PIN_TRANSLATED;
    return gateway && addr_equal(&gateway->addr, &room->packet.tuple.src);
}

/* Whether a reply came from the gateway to which its flow is pinned, or from another one of the
 * pod. `policy`: 0 for a pod with tunnels of its own. */
ALWAYS_INLINE int is_answer(struct room *room, __u32 policy)
{
    const struct egress_pin *pin = pin_get(&room->key);
    if (pin && !(pin->gateway & EGRESS_PIN_INBOUND) && is_from_gateway(room, pin->gateway)) {
        room->pin.gateway = pin->gateway;
        return 1;
    }
    return pin_restore(room, policy) && is_from_gateway(room, room->pin.gateway);
}

/* The identification of the fragment at `ip`, in the form of packet.fragment. */
ALWAYS_INLINE __u32 inner_id(struct __sk_buff *skb, __u32 ip, const struct icmp_upper *upper)
{
    __be16 short_id = 0;
    __be32 id = 0;
    if (upper->version == 4) {
        bpf_skb_load_bytes(skb, ip + __builtin_offsetof(struct iphdr, id), &short_id,
                           sizeof(short_id));
        return short_id;
    }
    bpf_skb_load_bytes(skb, upper->offset - sizeof(id), &id, sizeof(id));
    return id;
}

/* Whether FoU for a pod is a reply of a flow of ours. */
ALWAYS_INLINE int is_ours(struct __sk_buff *skb, struct room *room, __u32 ip, __u32 policy)
{
    const struct packet *packet = &room->packet;
    __u32 index;
    int shape = quote_read(skb, ip, &room->upper, &room->inner, &room->quoted);
    if (shape == INNER_NONE || room->upper.version != packet->family ||
        !addr_equal(&room->inner.dst, &packet->tuple.dst))
        return 0;
    __u32 id = room->upper.fragment ? inner_id(skb, ip, &room->upper) : 0;
    if (shape == INNER_LATER)
        return fragment_find(&room->inner, packet->family, id, FRAGMENT_GOT, &index) &&
               is_from_gateway(room, index);
    if (shape == INNER_ERROR)
        room->key = room->quoted;
    else
        tuple_reverse(&room->inner, &room->key);
    if (!is_answer(room, policy))
        return 0;
    if (room->upper.fragment)
        fragment_put(&room->inner, packet->family, id, FRAGMENT_GOT, room->pin.gateway);
    return 1;
}

/*
 * FoU for a pod: decapsulated if it is a reply of a flow of ours. NAT's program, which runs first,
 * has seen only the outer headers. If the reply is for NAT, it is sent out by the same interface
 * again, beginning with the first program.
 */
ALWAYS_INLINE int take_answer(struct __sk_buff *skb, struct room *room, __u32 policy)
{
    const struct packet *packet = &room->packet;
    if (!is_ours(skb, room, encap_inner(packet), policy))
        return NEXT;
    if (encap_take(skb, packet) < 0)
        return refuse(skb, room, EGRESS_CAUSE_OFFLOAD);
    return room->translated ? (int)bpf_redirect(skb->ifindex, 0) : NEXT;
}

/*
 * Caches the MTU that an error reports for the path to the flow's gateway, if it is about that
 * gateway.
 */
ALWAYS_INLINE int path_learn(const struct egress_pin *pin, const struct nat_addr *peer, __u32 mtu)
{
    const struct egress_gateway_value *gateway = gateway_at(pin->gateway & EGRESS_PIN_GATEWAY);
    if (!mtu || !gateway || !addr_equal(&gateway->addr, peer))
        return 0;
    path_put(peer, mtu);
    return 1;
}

/* A tunnel's ICMP error for a pod: becomes one about the inner packet; likewise. */
ALWAYS_INLINE int take_error(struct __sk_buff *skb, struct room *room)
{
    struct nat_addr peer;
    __u32 mtu = path_read(skb, &room->packet, &peer);
    if (encap_error_take(skb, &room->packet) < 0)
        return SHOT;
    room->translated = 0;
    if (quote_read(skb, L3, &room->upper, &room->inner, &room->quoted) == INNER_ERROR) {
        room->key = room->quoted;
        const struct egress_pin *pin = pin_get(&room->key);
        if (pin && !(pin->gateway & EGRESS_PIN_INBOUND)) {
            room->translated = pin->gateway & EGRESS_PIN_TRANSLATED;
            if (path_learn(pin, &peer, mtu) && path_quotes_cuttable(skb, &room->packet))
                return SHOT;
        }
    }
    return room->translated ? (int)bpf_redirect(skb->ifindex, 0) : NEXT;
}

SEC("tc")
int client_out(struct __sk_buff *skb)
{
    const struct egress_control *control = egress_control_get();
    struct room *room = room_get();
    if (!control || !room)
        return NEXT;
    struct packet *packet = &room->packet;
    parse(skb, NAT_HOOK_POD_OUT, packet);
    if (packet->shape == SHAPE_NONE)
        return NEXT;
    struct egress_pod_value *pod = pod_find(&packet->tuple.dst);
    if (!pod || !pod->policy)
        return NEXT;
    if (packet->shape == SHAPE_PORTS && encap_is(&packet->tuple, control->port))
        return take_answer(skb, room, pod->traits & EGRESS_POD_WRAPS ? 0 : pod->policy);
    if (packet->shape == SHAPE_ICMP && encap_error_is(skb, packet, control->port))
        return take_error(skb, room);
    note_inbound(skb, room, pod);
    return NEXT;
}

/* ---- packets that leave the node ---- */

SEC("tc")
int client_guard(struct __sk_buff *skb)
{
    const struct egress_control *control = egress_control_get();
    struct room *room = room_get();
    __u32 in = skb->ingress_ifindex; /* 0: this node's own */
    if (!control || !room || !in || !(control->flags & EGRESS_HOLD_UNKNOWN) ||
        bpf_map_lookup_elem(&egress_seen, &in))
        return NEXT;
    const struct packet *packet = &room->packet;
    parse(skb, NAT_HOOK_UPLINK_OUT, &room->packet);
    if (packet->shape == SHAPE_NONE || excluded_find(&packet->tuple.dst, packet->family))
        return NEXT;
    return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_HELD);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
