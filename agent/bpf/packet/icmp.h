/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two sides of ICMP share: refusing a packet (reject.h) and translating the errors of
 * others (icmp_error.h). All of it is the slow path, so packets are read by bpf_skb_load_bytes(),
 * which does not require linear data.
 *
 * A packet can be CHECKSUM_PARTIAL: it came from a pod or from one of this node's sockets, or GRO
 * has merged it. The kernel or a device then fills in its TCP or UDP checksum later on, even if the
 * packet has become the quote of an ICMP error meanwhile; or it does not, if the device checks the
 * protocol first. icmp_half() makes the error's checksum correct in both cases.
 *
 * Functions are global where possible: the verifier checks each of them once, and not in every
 * state of a caller.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/packet/start.h"

enum {
    ICMP_LEN = 8,
    ICMP_MAX_EXTENSIONS = 4, /* maximum number of IPv6 extension headers */
    ICMP_MAX_SUM = 1280,
    /* Types of ICMP in IPv4: <linux/icmp.h> needs the C library. 4 and 5: quench and redirect. */
    ICMP4_UNREACHABLE = 3,
    ICMP4_TIME_EXCEEDED = 11,
    ICMP4_PARAMETER = 12,
    ICMP4_TYPES = 18,
    ICMP4_TOO_BIG = 4, /* a code of ICMP4_UNREACHABLE */
    ICMP6_TOO_BIG = 2,
};

/* Both families' ICMP header: type, code, checksum, and a word that is the MTU or zero in errors.
 */
struct icmp_head {
    __u8 type, code;
    __sum16 check;
    __be32 word;
};

/* The header that follows an IP header and its extensions. */
struct icmp_upper {
    __u32 offset; /* from the start of the frame */
    __u8 version; /* 4 or 6 */
    __u8 protocol;
    __u8 fragment; /* a fragment of something */
    __u8 later;    /* ... and not the first */
};

static __always_inline int icmp_upper4(struct __sk_buff *skb, __u32 ip, struct icmp_upper *ret)
{
    struct iphdr header;

    if (bpf_skb_load_bytes(skb, ip, &header, sizeof(header)) || header.ihl < 5)
        return -1;
    ret->offset = ip + header.ihl * 4;
    ret->version = 4;
    ret->protocol = header.protocol;
    ret->fragment = (header.frag_off & bpf_htons(0x3fff)) != 0;
    ret->later = (header.frag_off & bpf_htons(0x1fff)) != 0;
    return 0;
}

static __always_inline int icmp_upper6(struct __sk_buff *skb, __u32 ip, struct icmp_upper *ret)
{
    __u8 next, extension[4];

    if (bpf_skb_load_bytes(skb, ip + __builtin_offsetof(struct ipv6hdr, nexthdr), &next, 1))
        return -1;
    ret->offset = ip + sizeof(struct ipv6hdr);
    ret->version = 6;
    ret->fragment = 0;
    ret->later = 0;
    for (int i = 0; i < ICMP_MAX_EXTENSIONS; i++) {
        if (next != IPPROTO_HOPOPTS && next != IPPROTO_DSTOPTS && next != IPPROTO_ROUTING &&
            next != IPPROTO_FRAGMENT)
            break;
        if (bpf_skb_load_bytes(skb, ret->offset, extension, sizeof(extension)))
            return -1;
        if (next == IPPROTO_FRAGMENT) {
            ret->fragment = 1;
            ret->later = extension[2] || extension[3] & 0xf8;
            ret->offset += 8;
        } else {
            ret->offset += (extension[1] + 1) * 8;
        }
        next = extension[0];
        if (ret->later) /* what follows is data from the middle of a packet */
            break;
    }
    ret->protocol = next;
    return 0;
}

/* Finds the upper layer of the IP packet at `ip`. -1: its headers are not complete. */
__noinline int icmp_upper(struct __sk_buff *skb, __u32 ip, struct icmp_upper *ret)
{
    __u8 first;

    if (!ret || bpf_skb_load_bytes(skb, ip, &first, 1))
        return -1;
    if (first >> 4 == 4)
        return icmp_upper4(skb, ip, ret);
    if (first >> 4 == 6)
        return icmp_upper6(skb, ip, ret);
    return -1;
}

/* The offset of the checksum in headers of protocols whose checksum covers the addresses. */
static __always_inline __u32 icmp_sum_offset(__u8 protocol)
{
    return protocol == IPPROTO_TCP ? 16 : protocol == IPPROTO_UDP ? 6 : 0;
}

static __always_inline __u16 icmp_fold(__u32 sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return (__u16)((sum & 0xffff) + (sum >> 16));
}

/* One's complement sum of two, as 32 bits. */
static __always_inline __u32 icmp_add(__u32 a, __u32 b)
{
    return (__u32)icmp_fold(a) + icmp_fold(b);
}

/* A checksum field after the sum of its data has grown by `change`. */
static __always_inline __u16 icmp_adjust(__u16 field, __u32 change)
{
    return (__u16)~icmp_fold(icmp_add((__u16)~field, change));
}

/*
 * The half of a sum, which one's complement arithmetic always has: adding 65535 makes it even.
 *
 * Let c be a checksum field and r the sum of what it covers without itself. If the kernel or a
 * device completes it, covered part and field sum up to -c, otherwise to r + c. So if c is half of
 * -r, a checksum over both is correct whether the inner one is completed or not.
 */
static __always_inline __u16 icmp_half(__u32 sum)
{
    __u32 folded = icmp_fold(sum);

    return (__u16)((folded & 1 ? folded + 0xffff : folded) / 2);
}

/*
 * One if the packet's checksum is to be completed later (CHECKSUM_PARTIAL). The kernel does not
 * expose this to programs, but for such a packet bpf_l4_csum_replace() does not change the 16 bits
 * at `field`, whatever they are. If it has changed them, they are restored.
 */
__noinline int icmp_partial(struct __sk_buff *skb, __u32 field)
{
    __u16 before, after;

    if (bpf_skb_load_bytes(skb, field, &before, sizeof(before)) ||
        bpf_l4_csum_replace(skb, field, 0, 1, sizeof(before)) ||
        bpf_skb_load_bytes(skb, field, &after, sizeof(after)))
        return 0;
    if (before == after)
        return 1;
    bpf_skb_store_bytes(skb, field, &before, sizeof(before), 0);
    return 0;
}

enum {
    SUM_FRAGMENT = 512, /* bpf_csum_diff() takes no more before Linux 6.13 */
    SUM_FRAGMENTS = 3,
    SUM_ROOM = 2048, /* a power of two, by which the verifier sees that the data fits in */
};

struct sum_room {
    __u8 bytes[SUM_ROOM + sizeof(__be32)];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct sum_room);
} sum_room SEC(".maps");

/* Sum of up to ICMP_MAX_SUM bytes, of even or odd number; negative: they are not available. */
__noinline __s64 icmp_sum(struct __sk_buff *skb, __u32 offset, __u32 length)
{
    __u32 zero = 0;
    struct sum_room *room = bpf_map_lookup_elem(&sum_room, &zero);
    __s64 sum = 0;

    if (!room || length > ICMP_MAX_SUM)
        return -1;
    if (!length)
        return 0;
    length = ((length - 1) & (SUM_ROOM - 1)) + 1;
    if (bpf_skb_load_bytes(skb, offset, room->bytes, length))
        return -1;
    __builtin_memset(room->bytes + length, 0, sizeof(__be32));
    length = (length + 3) & ~3u;
    for (__u32 i = 0; i < SUM_FRAGMENTS && length; i++) {
        __u32 size = length < SUM_FRAGMENT ? length : SUM_FRAGMENT;
        barrier_var(size); /* a bound that Linux 6.1 sees */
        size &= 2 * SUM_FRAGMENT - 1;
        sum = bpf_csum_diff(NULL, 0, (__be32 *)(room->bytes + i * SUM_FRAGMENT), size, (__u32)sum);
        if (sum < 0)
            return -1;
        length -= size;
    }
    return sum;
}
