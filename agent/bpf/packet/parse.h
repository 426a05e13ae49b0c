/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a packet's tuple. The packet belongs to no VLAN: packets of a VLAN are processed by the
 * program on the VLAN's own device. A tag with VLAN 0 carries only a priority (IEEE 802.1Q), and
 * the packet belongs to this device. A tag within that one is dropped: see is_tagged_twice().
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/packet/start.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))
/* Kept out of line: the six programs share its code, and its stack frame ends when it returns. */
#define SUBPROGRAM    static __attribute__((noinline))
/* The same, but checked by the verifier once, for any arguments: pointers may be NULL. */
#define GLOBAL        __attribute__((noinline))

enum {
    L4_OFFSET_MAX = 512, /* maximum offset behind IPv6 extension headers */
    EXTENSIONS_MAX = 4,
    SCTP_HEADER = 12, /* ports, verification tag, checksum */
    SCTP_CHECKSUM = 8,
    DONT_FRAGMENT = 0x4000,
    VLAN_NUMBER = 0xfff, /* of a tag: the VLAN, without priority */
};

enum {
    TCP_FIN = 0x01,
    TCP_SYN = 0x02,
    TCP_RST = 0x04,
    TCP_ACK = 0x10,
};

enum shape {
    SHAPE_NONE,  /* no IP: not ours */
    SHAPE_PORTS, /* TCP, UDP or SCTP, whole */
    SHAPE_FIRST, /* the same, a first fragment */
    SHAPE_LATER, /* a later fragment: no ports */
    SHAPE_ICMP,
    SHAPE_OTHER, /* another protocol */
    SHAPE_BAD,   /* cut short */
    SHAPE_DEEP,  /* more IPv6 extension headers, or longer ones, than we parse: no ports */
};

struct packet {
    struct nat_tuple tuple; /* ports are 0 where there are none */
    __u32 l4;               /* offset of the transport header */
    __u32 fragment;         /* identification, as on the wire */
    __u8 family;            /* 4, 6 */
    __u8 shape;
    __u8 tcp;       /* TCP_* */
    __u8 hops;      /* TTL or hop limit */
    __u8 hook;      /* enum nat_hook: where it is processed */
    __u8 l4_size;   /* of the transport header, of TCP with options */
    __u8 cuttable;  /* routers may cut it into fragments: IPv4 without DF */
    __u8 first;     /* a first fragment; for ICMP the only mark */
    __u32 mtu;      /* of the route that it is too big for */
    __u32 seq, ack; /* TCP */
    __u32 end; /* TCP: the sequence number after it. Before ports are parsed: the packet's end */
};

ALWAYS_INLINE void addr_from_v4(struct nat_addr *addr, __be32 v4)
{
    addr->words[0] = 0;
    addr->words[1] = 0;
    addr->words[2] = bpf_htonl(0xffff);
    addr->words[3] = v4;
}

/*
 * In halves, although a packet's addresses may be unaligned: machines with JIT compilers for BPF
 * support unaligned reads, and where they do not, the verifier takes NET_IP_ALIGN into account, by
 * which addresses behind an Ethernet header are aligned.
 */
ALWAYS_INLINE void addr_from_v6(struct nat_addr *addr, const struct in6_addr *v6)
{
    typedef __u64 __attribute__((may_alias)) half;
    const half *halves = (const void *)v6;
    addr->halves[0] = halves[0];
    addr->halves[1] = halves[1];
}

ALWAYS_INLINE int addr_equal(const struct nat_addr *a, const struct nat_addr *b)
{
    return a->halves[0] == b->halves[0] && a->halves[1] == b->halves[1];
}

ALWAYS_INLINE int is_zero(const struct nat_addr *addr)
{
    return !(addr->halves[0] | addr->halves[1]);
}

ALWAYS_INLINE void *packet_at(struct __sk_buff *skb, __u32 offset)
{
    return (void *)(long)skb->data + offset;
}

ALWAYS_INLINE int packet_has(struct __sk_buff *skb, const void *end)
{
    return end <= (void *)(long)skb->data_end;
}

/* The transport header, at an offset whose bounds every kernel's verifier sees. */
ALWAYS_INLINE void *packet_l4(struct __sk_buff *skb, __u32 l4)
{
    barrier_var(l4);
    return packet_at(skb, l4 & (2 * L4_OFFSET_MAX - 1));
}

/*
 * Makes the first `bytes` bytes directly readable. Pointers into the packet are invalid afterwards.
 * Never more than is read: bytes pulled out of the first page of a large segment leave the rest of
 * that page unaligned, and a receiver copies it more slowly.
 */
ALWAYS_INLINE void packet_pull(struct __sk_buff *skb, __u32 bytes)
{
    if (packet_has(skb, packet_at(skb, bytes)))
        return;
    bpf_skb_pull_data(skb, bytes < skb->len ? bytes : skb->len);
}

/* The end of a packet of a given length, without the padding of short frames. 0: too long for its
 * header. */
ALWAYS_INLINE __u32 frame_end(struct __sk_buff *skb, __u32 length)
{
    return length ? L3 + length : skb->len;
}

ALWAYS_INLINE void parse_tcp(struct __sk_buff *skb, struct packet *packet)
{
    const __u8 *tcp = packet_l4(skb, packet->l4);
    if (!packet_has(skb, tcp + sizeof(struct tcphdr))) {
        packet->shape = SHAPE_BAD;
        return;
    }
    const struct tcphdr *header = (const void *)tcp;
    packet->tcp = tcp[13];
    packet->l4_size = tcp[12] >> 4 << 2;
    packet->seq = bpf_ntohl(header->seq);
    packet->ack = bpf_ntohl(header->ack_seq);
    packet->end += packet->seq - packet->l4 - packet->l4_size + !!(packet->tcp & TCP_SYN) +
                   !!(packet->tcp & TCP_FIN);
}

ALWAYS_INLINE void parse_sctp(struct __sk_buff *skb, struct packet *packet)
{
    const __u8 *sctp = packet_l4(skb, packet->l4);
    if (!packet_has(skb, sctp + SCTP_HEADER))
        packet->shape = SHAPE_BAD;
    packet->l4_size = SCTP_HEADER;
}

ALWAYS_INLINE void parse_ports(struct __sk_buff *skb, struct packet *packet)
{
    __u32 l4 = packet->l4;
    if (l4 > L4_OFFSET_MAX) {
        packet->shape = SHAPE_DEEP;
        return;
    }
    const struct udphdr *ports = packet_l4(skb, l4);
    if (!packet_has(skb, ports + 1)) {
        packet->shape = SHAPE_BAD;
        return;
    }
    packet->tuple.sport = ports->source;
    packet->tuple.dport = ports->dest;
    packet->l4_size = sizeof(*ports);
    if (packet->tuple.protocol == IPPROTO_TCP)
        parse_tcp(skb, packet);
    else if (packet->tuple.protocol == IPPROTO_SCTP)
        parse_sctp(skb, packet);
}

ALWAYS_INLINE int is_icmp(__u8 protocol)
{
    return protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6;
}

/* Whether the packet begins with an ICMP header; also true for a first fragment. */
ALWAYS_INLINE int has_icmp_head(const struct packet *packet)
{
    return packet->shape == SHAPE_ICMP || (packet->first && is_icmp(packet->tuple.protocol));
}

ALWAYS_INLINE void parse_protocol(struct packet *packet, __u8 protocol)
{
    packet->tuple.protocol = protocol;
    if (is_icmp(protocol))
        packet->shape = SHAPE_ICMP;
    else if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_SCTP)
        packet->shape = SHAPE_OTHER;
}

ALWAYS_INLINE void parse_v4(struct __sk_buff *skb, struct packet *packet)
{
    const struct iphdr *ip = packet_at(skb, L3);
    if (!packet_has(skb, ip + 1) || ip->version != 4 || ip->ihl < 5)
        return;
    packet->family = 4;
    packet->hops = ip->ttl;
    packet->l4 = L3 + ip->ihl * 4u;
    packet->end = frame_end(skb, bpf_ntohs(ip->tot_len));
    packet->shape = SHAPE_PORTS;
    addr_from_v4(&packet->tuple.src, ip->saddr);
    addr_from_v4(&packet->tuple.dst, ip->daddr);
    parse_protocol(packet, ip->protocol);
    packet->cuttable = !(ip->frag_off & bpf_htons(DONT_FRAGMENT));
    if (ip->frag_off & bpf_htons(0x3fff)) {
        packet->fragment = ip->id;
        if (ip->frag_off & bpf_htons(0x1fff))
            packet->shape = SHAPE_LATER;
        else
            packet->first = 1;
        if (packet->first && packet->shape == SHAPE_PORTS)
            packet->shape = SHAPE_FIRST;
    }
}

/* Parses at most EXTENSIONS_MAX extension headers. */
ALWAYS_INLINE void walk_extensions(struct __sk_buff *skb, struct packet *packet, __u8 next)
{
    struct {
        __u8 next, length;
        __be16 offset; /* of a fragment header: offset and flags */
        __be32 id;
    } header;
#pragma unroll
    for (int i = 0; i <= EXTENSIONS_MAX; i++) {
        if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
            next != IPPROTO_FRAGMENT) {
            packet->tuple.protocol = next;
            return;
        }
        if (bpf_skb_load_bytes(skb, packet->l4, &header, sizeof(header)) < 0) {
            packet->shape = SHAPE_BAD;
            return;
        }
        if (next == IPPROTO_FRAGMENT) {
            packet->fragment = header.id;
            packet->l4 += 8;
            packet->shape = header.offset & bpf_htons(0xfff8) ? SHAPE_LATER : SHAPE_FIRST;
            if (!(header.offset & bpf_htons(0xfff9)))
                packet->shape = SHAPE_PORTS; /* RFC 6946: an atomic fragment is a whole packet */
        } else {
            packet->l4 += (header.length + 1u) * 8;
        }
        next = header.next;
        if (packet->shape == SHAPE_LATER) {
            packet->tuple.protocol = next;
            return;
        }
    }
    packet->shape = SHAPE_DEEP;
}

ALWAYS_INLINE void parse_v6(struct __sk_buff *skb, struct packet *packet)
{
    const struct ipv6hdr *ip = packet_at(skb, L3);
    if (!packet_has(skb, ip + 1) || ip->version != 6)
        return;
    packet->family = 6;
    packet->hops = ip->hop_limit;
    packet->l4 = L3 + sizeof(*ip);
    packet->end = frame_end(skb, ip->payload_len ? sizeof(*ip) + bpf_ntohs(ip->payload_len) : 0);
    packet->shape = SHAPE_PORTS;
    addr_from_v6(&packet->tuple.src, &ip->saddr);
    addr_from_v6(&packet->tuple.dst, &ip->daddr);
    __u8 next = ip->nexthdr;
    if (next != IPPROTO_TCP && next != IPPROTO_UDP && next != IPPROTO_ICMPV6) {
        walk_extensions(skb, packet, next);
        next = packet->tuple.protocol;
    }
    if (packet->shape == SHAPE_PORTS || packet->shape == SHAPE_FIRST) {
        __u8 shape = packet->shape;
        parse_protocol(packet, next);
        packet->first = shape == SHAPE_FIRST;
        if (packet->shape == SHAPE_ICMP && packet->first)
            packet->shape = SHAPE_OTHER;
    }
}

ALWAYS_INLINE int is_ip(struct __sk_buff *skb)
{
    return skb->protocol == bpf_htons(ETH_P_IP) || skb->protocol == bpf_htons(ETH_P_IPV6);
}

/*
 * Whether the packet belongs to this device. A priority tag is removed at ingress, as the stack
 * does a moment later: the packet may bypass the stack, and no receiver expects a tag then.
 */
ALWAYS_INLINE int without_vlan(struct __sk_buff *skb, enum nat_hook hook)
{
    if (!skb->vlan_present)
        return 1;
    if (skb->vlan_tci & VLAN_NUMBER)
        return 0;
    if (hook != NAT_HOOK_UPLINK_IN && hook != NAT_HOOK_POD_IN)
        return 1;
    return bpf_skb_vlan_pop(skb) == 0;
}

/*
 * Whether a tag follows a priority tag. Linux removes each of them, but only the first before the
 * tc programs: the programs see no IP packet, and the stack accepts one for this device. No
 * legitimate sender needs such frames.
 */
ALWAYS_INLINE int is_tagged_twice(struct __sk_buff *skb)
{
    return skb->vlan_present && !(skb->vlan_tci & VLAN_NUMBER) &&
           (skb->protocol == bpf_htons(ETH_P_8021Q) || skb->protocol == bpf_htons(ETH_P_8021AD));
}

/* The minimum size of a transport header. */
ALWAYS_INLINE __u32 transport_size(__u8 protocol)
{
    if (protocol == IPPROTO_TCP)
        return sizeof(struct tcphdr);
    return protocol == IPPROTO_SCTP ? (__u32)SCTP_HEADER : sizeof(struct udphdr);
}

ALWAYS_INLINE void parse(struct __sk_buff *skb, enum nat_hook hook, struct packet *packet)
{
    __builtin_memset(packet, 0, sizeof(*packet));
    packet->hook = hook;
    if (!is_ip(skb) || !without_vlan(skb, hook))
        return;
    if (skb->protocol == bpf_htons(ETH_P_IP)) {
        packet_pull(skb, L3 + sizeof(struct iphdr));
        parse_v4(skb, packet);
    } else {
        packet_pull(skb, L3 + sizeof(struct ipv6hdr));
        parse_v6(skb, packet);
    }
    if (packet->shape != SHAPE_PORTS && packet->shape != SHAPE_FIRST)
        return;
    if (packet->l4 <= L4_OFFSET_MAX)
        packet_pull(skb, packet->l4 + transport_size(packet->tuple.protocol));
    parse_ports(skb, packet);
}
