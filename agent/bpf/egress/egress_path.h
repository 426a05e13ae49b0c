/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Path MTU of tunnels: a link on the path to the remote endpoint may have a smaller MTU than the
 * link by which packets leave. Outer packets must not be fragmented (encap.h), since the receiver
 * does not reassemble them. So the router in front of that link drops larger packets, and reports
 * the MTU in an ICMP error (encap.h). It is cached for the remote endpoint ("egress_paths"). Later
 * packets that are too large are fragmented or answered here, as if the link were this node's own.
 * Hosts as well learn path MTUs only from such errors, and forget them after the same time, to
 * detect a larger MTU.
 *
 * An error has to quote a packet of a live flow. A sender that guesses one still can't lower the
 * path MTU below the minimum for a tunnel.
 */
#pragma once

#include "bpf/egress/egress_maps.h"
#include "bpf/packet/encap.h"
#include "bpf/packet/tuple.h"
#include "bpf/route/next_hop.h"

enum {
    PATH_S = 600, /* as net.ipv4.route.mtu_expires */
    PATH_LEAST4 = 1280,
    PATH_LEAST6 = 1280 + ENCAP_ROOM6, /* the inner packet has to fit the minimum MTU of IPv6 */
};

ALWAYS_INLINE __u32 path_least(__u8 family)
{
    return family == 4 ? PATH_LEAST4 : PATH_LEAST6;
}

/* The smaller of an MTU and the cached path MTU to the tunnel's remote endpoint. */
SUBPROGRAM __u32 path_narrow(const struct nat_addr *peer, __u32 mtu)
{
    const struct egress_path_value *path = bpf_map_lookup_elem(&egress_paths, peer);
    if (!path || path->check != nat_check(peer, 0) || now_s() - path->seen_s > PATH_S)
        return mtu;
    return path->mtu < mtu ? path->mtu : mtu;
}

/* The largest outer packet on the route that was looked up for `size` bytes. */
ALWAYS_INLINE __u32 path_limit(const struct next_hop *next_hop, __u8 family,
                               const struct nat_addr *peer, __u32 size)
{
    __u32 mtu =
        next_hop->answer == BPF_FIB_LKUP_RET_FRAG_NEEDED ? next_hop->fib.mtu_result : 0xffff;
    return size > path_least(family) ? path_narrow(peer, mtu) : mtu;
}

/*
 * For an error that encap_error_is() accepted: the largest outer packet, and the destination of the
 * quoted one. Returns 0 if it is an error of another kind.
 */
static __noinline __u32 path_read(struct __sk_buff *skb, const struct packet *packet,
                                  struct nat_addr *ret_peer)
{
    struct icmp_head head;
    struct nat_addr src;
    __u32 least = path_least(packet->family), mtu;
    if (!ret_peer || bpf_skb_load_bytes(skb, packet->l4, &head, sizeof(head)) ||
        icmp_load_addresses(skb, packet->l4 + ICMP_LEN, packet->family, &src, ret_peer))
        return 0;
    mtu = bpf_ntohl(head.word);
    if (packet->family == 4) {
        mtu &= 0xffff; /* routers from before RFC 1191 report 0 */
        mtu = head.type == ICMP4_UNREACHABLE && head.code == ICMP4_TOO_BIG ? mtu : 0;
    } else if (head.type != ICMP6_TOO_BIG) {
        mtu = 0;
    }
    return mtu && mtu < least ? least : mtu;
}

/* Caches the MTU reported by an error about a packet of a live flow. */
ALWAYS_INLINE void path_put(const struct nat_addr *peer, __u32 mtu)
{
    struct egress_path_value value = { .mtu = mtu, .check = nat_check(peer, 0), .seen_s = now_s() };
    if (path_narrow(peer, 0xffffffff) > mtu)
        bpf_map_update_elem(&egress_paths, peer, &value, BPF_ANY);
}

/* Whether the packet that the error quotes now, without outer headers, may be fragmented: then its
 * sender needs no error. */
ALWAYS_INLINE int path_quotes_cuttable(struct __sk_buff *skb, const struct packet *packet)
{
    __be16 fragment = bpf_htons(DONT_FRAGMENT);
    __u32 at = packet->l4 + ICMP_LEN + __builtin_offsetof(struct iphdr, frag_off);
    return packet->family == 4 && !bpf_skb_load_bytes(skb, at, &fragment, sizeof(fragment)) &&
           !(fragment & bpf_htons(DONT_FRAGMENT));
}
