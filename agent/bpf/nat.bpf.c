// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The service proxy: it decides about every packet to and from a Service.
 *
 * The program parses a packet and checks by the filter whether it may be ours; for most packets
 * this is all. It then looks up the packet's flow. A packet that belongs to no flow is judged by
 * the frontend that it is for (begin.h, choose.h); the program makes a new flow (flow.h),
 * translates the packet (translate.h) and passes it on (delivery.h, send.h). A refused packet is
 * turned into its ICMP error (reject.h). abi.h says how the maps refer to each other.
 *
 * There are six programs with one body, by where they are attached:
 *
 *   uplink_in, pod_in     ingress: requests are judged; replies to masqueraded flows and to this
 *                         node's own are translated and sent on
 *   svc_out               egress of svc0: what this node sends to service addresses, which table
 *                         main routes there, and other packets to such addresses that no program
 *                         has processed before
 *   lo_out                egress of lo: this node to its own node ports, and what endpoints in
 *                         this node's namespace answer it
 *   uplink_out, pod_out   egress: replies that went through the stack get the service's address,
 *                         and masqueraded requests that did get this node's (leave.h); what this
 *                         node itself sends straight to an endpoint gets another source port where
 *                         a flow has the same tuple
 *
 * A flow that is not masqueraded passes through the stack, since its source and route are
 * unchanged; its replies are translated back where they leave. A masqueraded flow does so as well
 * where the stack may have listeners; otherwise it bypasses the stack in both directions, since the
 * stack would treat packets from this node's own address as spoofed. See "flows" in flow_abi.h.
 *
 * With dry_run the same programs are the twin (twin.h).
 */
#include "bpf/flow/fragment.h"
#include "bpf/nat/begin.h"
#include "bpf/nat/follow.h"
#include "bpf/nat/leave.h"
#include "bpf/nat/spread.h"
#include "bpf/nat/twin.h"
#include "bpf/service/glance.h"

const volatile __u32 dry_run SEC(".rodata.twin") = 0;

/* A packet whose headers can't be parsed: dropped if it is for an address of ours, or at svc0, from
 * where it could not continue. */
ALWAYS_INLINE int leave_or_drop(struct __sk_buff *skb, const struct nat_control *control,
                                const struct packet *packet)
{
    if (packet->hook != NAT_HOOK_SVC_OUT && !filter_has(control, &packet->tuple.dst, 0))
        return NEXT;
    return drop(skb, packet, 0,
                packet->shape == SHAPE_BAD ? NAT_CAUSE_MALFORMED : NAT_CAUSE_EXTENSIONS);
}

/*
 * Looks up the packet's flow; where requests are judged, then its frontend. `hook` is packet->hook
 * as a constant: so the programs at exits don't contain the judge, which the verifier would check
 * at each start. `leaves`: it is at an exit, and may be for leave().
 */
ALWAYS_INLINE int walk(struct __sk_buff *skb, struct scratch *room, enum nat_hook hook, int leaves)
{
    room->reopens = 0;
    int r = has_ports(&room->packet) ? follow(skb) : 1;
    if (r != 1)
        return r;
    if (!at_exit(hook))
        return judge(skb);
    return leaves ? leave(skb) : NEXT;
}

ALWAYS_INLINE int handle(struct __sk_buff *skb, enum nat_hook hook)
{
    int r;
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room)
        return NEXT;
    if (!dry_run)
        room->seen.packets[hook]++;
    /* On a bridge it passes several exits: the mark stays until the packet enters again. */
    if (skb->tc_index == SENT) {
        if (at_exit(hook))
            return NEXT;
        skb->tc_index = 0;
    }
    struct packet *packet = &room->packet;
    enum glance seen = GLANCE_UNKNOWN;
    if (!dry_run && (hook == NAT_HOOK_UPLINK_IN || hook == NAT_HOOK_POD_IN))
        seen = glance(skb, control);
    if (seen == GLANCE_NOT_OURS)
        return NEXT;
    parse(skb, hook, packet);
    if (packet->shape == SHAPE_NONE && !at_exit(hook) && is_tagged_twice(skb))
        return drop(skb, packet, 0, NAT_CAUSE_MALFORMED);
    if (packet->shape == SHAPE_NONE)
        return NEXT;
    if (dry_run)
        return tell(skb);
    /* A promiscuous interface receives frames for other stations: they are not for this node. */
    if (hook == NAT_HOOK_UPLINK_IN && skb->pkt_type == PACKET_OTHERHOST)
        return NEXT;
    if (packet->shape == SHAPE_FIRST || packet->shape == SHAPE_LATER) {
        enum fragment_next_hop next_hop = fragment_join(control, packet, skb);
        if (next_hop == FRAGMENT_LEFT)
            return NEXT;
        if (next_hop == FRAGMENT_LOST)
            return drop(skb, packet, 0, NAT_CAUSE_FRAGMENT);
        if (next_hop == FRAGMENT_WRONG)
            return drop(skb, packet, 0, NAT_CAUSE_REVERSE_PATH);
    }
    if (packet->shape == SHAPE_ICMP) {
        r = follow_error(skb);
        if (r == STRANGER)
            r = hook == NAT_HOOK_UPLINK_IN ? spread_error(skb) : 1;
        if (r != 1)
            return r;
    }
    int reply = seen == GLANCE_MAYBE || may_be_reply(control, packet);
    int leaves = at_exit(hook) && has_ports(packet) && may_leave(skb, control, packet);
    if (at_exit(hook) && !reply && !leaves)
        return NEXT;
    if (!at_exit(hook) && !reply && hook != NAT_HOOK_SVC_OUT && !may_be_request(control, packet))
        return NEXT;
    if (packet->shape == SHAPE_BAD || packet->shape == SHAPE_DEEP)
        return leave_or_drop(skb, control, packet);
    r = walk(skb, room, hook, leaves);
    return r >= ANSWER ? answer(skb, control, packet, r - ANSWER) : r;
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

/* The kernel's name for "GPL-2.0-only OR BSD-2-Clause"; bpf_fib_lookup() requires it. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
