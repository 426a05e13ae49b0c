/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes of a gateway (struct egress_probe). Agents send them to find out whether the gateway is
 * alive. The answer comes from the program that does the gateway's work, not from a process beside
 * it: a gateway whose agent is dead keeps working, and one whose program is gone does not. The
 * answer also reports whether the agent still learns of new clients: only the agent can admit them.
 *
 * The request is turned into its answer in place, and sent to its sender by the kernel's route. The
 * answer is as long as the request, so that a forged source address gives no amplification, as with
 * ICMP echo.
 */
#pragma once

#include "bpf/egress/egress_next_hop.h"
#include "bpf/nat/delivery.h"
#include "bpf/packet/encap.h"
#include "bpf/packet/tuple.h"

enum { PROBE_HOPS = 64 };

/* Whether a packet to FoU's port is a probe request: no IP packet is that short. */
ALWAYS_INLINE int probe_is(struct __sk_buff *skb, const struct packet *packet)
{
    struct egress_probe probe;
    return !bpf_skb_load_bytes(skb, encap_inner(packet), &probe, sizeof(probe)) && !probe.version &&
           probe.kind == EGRESS_PROBE_QUESTION && probe.magic == bpf_htonl(EGRESS_PROBE_MAGIC);
}

/* now_s() uses the coarse clock, which is some milliseconds behind the agent's: so the heartbeat
 * may be of a second that has not begun here. */
ALWAYS_INLINE __be16 probe_state(const struct egress_control *settings)
{
    __u32 flags = settings->flags;
    __s32 silent_s = (__s32)(now_s() - settings->heard_s);
    return bpf_htons((flags & EGRESS_LEAVING ? EGRESS_PROBE_LEAVING : 0) |
                     (flags & EGRESS_GONE ? EGRESS_PROBE_GONE : 0) |
                     (silent_s > EGRESS_STALE_S ? EGRESS_PROBE_STALE : 0));
}

/* Turns the first bytes of the request into those of the answer, and updates the UDP checksum. */
ALWAYS_INLINE int probe_fill(struct __sk_buff *skb, const struct packet *packet, __be16 state)
{
    __u32 offset = encap_inner(packet);
    struct egress_probe answer = { .kind = EGRESS_PROBE_ANSWER, .state = state };
    __be32 was, now;
    __builtin_memcpy(&now, &answer, sizeof(now));
    if (bpf_skb_load_bytes(skb, offset, &was, sizeof(was)))
        return -1;
    bpf_l4_csum_replace(skb, packet->l4 + __builtin_offsetof(struct udphdr, check), was, now,
                        sizeof(now) | BPF_F_MARK_MANGLED_0);
    return bpf_skb_store_bytes(skb, offset, &now, sizeof(now), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
}

/* Swaps sender and receiver, which changes no checksum; the hop limit is that of a new packet. */
ALWAYS_INLINE int probe_turn(struct __sk_buff *skb, const struct packet *packet)
{
    const struct nat_tuple *tuple = &packet->tuple;
    __be16 ports[2] = { tuple->dport, tuple->sport };
    if (bpf_skb_store_bytes(skb, packet->l4, ports, sizeof(ports), 0))
        return -1;
    if (packet->family == 6) {
        struct nat_addr ends[2] = { tuple->dst, tuple->src };
        __u8 hops = PROBE_HOPS;
        return bpf_skb_store_bytes(skb, L3 + __builtin_offsetof(struct ipv6hdr, hop_limit), &hops,
                                   sizeof(hops), 0) ||
                       bpf_skb_store_bytes(skb, L3 + __builtin_offsetof(struct ipv6hdr, saddr),
                                           ends, sizeof(ends), 0)
                   ? -1
                   : 0;
    }
    __be32 ends[2] = { tuple->dst.words[3], tuple->src.words[3] };
    __be16 was, now;
    __u32 ttl = L3 + __builtin_offsetof(struct iphdr, ttl);
    if (bpf_skb_load_bytes(skb, ttl, &was, sizeof(was)))
        return -1;
    now = bpf_htons(PROBE_HOPS << 8 | (bpf_ntohs(was) & 0xff));
    bpf_l3_csum_replace(skb, L3 + __builtin_offsetof(struct iphdr, check), was, now, sizeof(now));
    return bpf_skb_store_bytes(skb, ttl, &now, sizeof(now), 0) ||
                   bpf_skb_store_bytes(skb, L3 + __builtin_offsetof(struct iphdr, saddr), ends,
                                       sizeof(ends), 0)
               ? -1
               : 0;
}

/* Answers a probe. */
GLOBAL int probe_answer(struct __sk_buff *skb)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!settings || !room)
        return SHOT;
    const struct packet *packet = &room->packet;
    const struct nat_tuple *tuple = &packet->tuple;
    if (gateway_ask(skb, packet->family, NEXT_HOP_FRAGMENT, &tuple->dst, &tuple->src,
                    &room->next_hop))
        return SHOT;
    if (probe_fill(skb, packet, probe_state(settings)) < 0 || probe_turn(skb, packet) < 0 ||
        head_put(skb) < 0)
        return SHOT;
    return gateway_redirect(settings, &room->next_hop);
}
