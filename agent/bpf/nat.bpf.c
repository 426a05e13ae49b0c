// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The service proxy: the one judge of packets.
 *
 * A packet is parsed, asked of the filter (most end there), looked up among the flows, and, if it
 * is of none, judged by the frontend that it is for (begin.h, choose.h); a new flow is made
 * (flow.h), the packet translated (translate.h) and passed on (hand.h, way.h). What is refused gets
 * its ICMP error from here (reject.h). abi.h says how the maps hang together.
 *
 * Six programs of one body, by where they are attached:
 *
 *   uplink_in, pod_in     ingress: requests are judged; replies to masqueraded flows and to this
 *                         node's own are translated and sent on
 *   svc_out               egress of svc0: what this node sends to service addresses, routed there
 *                         by main, and what else is for such an address and nobody took
 *   lo_out                egress of lo: this node to its own node ports, and what endpoints in
 *                         this node's namespace answer it
 *   uplink_out, pod_out   egress: replies that went through the stack get the service's address
 *
 * Whose packet went through the stack (not masqueraded: source and route are as before) is
 * translated back where it leaves. Whose source became this node's is past the stack both ways:
 * the stack would take its own address for a spoofed one.
 *
 * With dry_run the same programs are the twin (twin.h).
 */
#include "bpf/begin.h"
#include "bpf/follow.h"
#include "bpf/fragment.h"
#include "bpf/twin.h"

const volatile __u32 dry_run SEC(".rodata.twin") = 0;

/* Headers of ours that don't fit. */
ALWAYS_INLINE int is_ours(const struct nat_control *control, const struct packet *packet)
{
    return filter_has(control, &packet->tuple.dst, 0);
}

/*
 * Through the flows, then, where requests are judged, through the frontends. `hook` is the
 * packet's, as a constant: no exit has the judge in it, to be verified at each start.
 */
ALWAYS_INLINE int walk(struct __sk_buff *skb, struct packet *packet, enum nat_hook hook)
{
    int r = has_ports(packet) ? follow(skb, packet) : 1;
    if (r != 1)
        return r;
    return at_exit(hook) ? NEXT : judge(skb, packet);
}

ALWAYS_INLINE int handle(struct __sk_buff *skb, enum nat_hook hook)
{
    struct packet packet;
    int r;
    const struct nat_control *control = control_get();
    if (!control)
        return NEXT;
    parse(skb, hook, &packet);
    if (packet.shape == SHAPE_NONE)
        return NEXT;
    if (dry_run)
        return tell(skb, &packet);
    /* Frames to another station, seen by a promiscuous interface, are none of this node's. */
    if (hook == NAT_HOOK_UPLINK_IN && skb->pkt_type == PACKET_OTHERHOST)
        return NEXT;
    if (packet.shape == SHAPE_FIRST || packet.shape == SHAPE_LATER) {
        enum fragment_way way = fragment_join(control, &packet);
        if (way == FRAGMENT_LEFT)
            return NEXT;
        if (way == FRAGMENT_LOST)
            return drop(skb, &packet, 0, NAT_CAUSE_FRAGMENT);
    }
    if (packet.shape == SHAPE_ICMP) {
        r = follow_error(skb, &packet);
        if (r != 1)
            return r;
    }
    int reply = may_be_reply(control, &packet);
    if (at_exit(hook) && !reply)
        return NEXT;
    if (!reply && hook != NAT_HOOK_SVC_OUT && !may_be_request(control, &packet))
        return NEXT;
    if (packet.shape == SHAPE_BAD)
        return is_ours(control, &packet) ? drop(skb, &packet, 0, NAT_CAUSE_MALFORMED) : NEXT;
    r = walk(skb, &packet, hook);
    return r >= ANSWER ? answer(skb, control, &packet, r - ANSWER) : r;
}

SEC("tc")
int uplink_in(struct __sk_buff *skb)
{
    return handle(skb, NAT_HOOK_UPLINK_IN);
}

SEC("tc")
int uplink_out(struct __sk_buff *skb)
{
    return handle(skb, NAT_HOOK_UPLINK_OUT);
}

SEC("tc")
int pod_in(struct __sk_buff *skb)
{
    return handle(skb, NAT_HOOK_POD_IN);
}

SEC("tc")
int pod_out(struct __sk_buff *skb)
{
    return handle(skb, NAT_HOOK_POD_OUT);
}

SEC("tc")
int lo_out(struct __sk_buff *skb)
{
    return handle(skb, NAT_HOOK_LO_OUT);
}

SEC("tc")
int svc_out(struct __sk_buff *skb)
{
    return handle(skb, NAT_HOOK_SVC_OUT);
}

/* What the kernel knows of "GPL-2.0-only OR BSD-2-Clause"; bpf_fib_lookup() asks for it. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
