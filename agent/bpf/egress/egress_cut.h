/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragmentation: an IPv4 packet that is too large for the tunnel, and that routers may fragment,
 * becomes two fragments before it is encapsulated.
 *
 * BPF can create a second packet only as a copy of the present one. So the packet is turned into
 * the second fragment, a copy of which is sent back to the ingress of the interface by which it
 * entered; then it is turned into the first fragment, which continues at once. So nothing that
 * follows a first fragment can arrive before it: neither the second fragment, nor fragments made by
 * the sender. A fragment that is still too large when it enters again is fragmented again.
 *
 * A checksum that is to be completed later would be computed over one fragment alone. So it is
 * completed first, and the request is cancelled: the kernel drops the request when the bytes that
 * it points to are cut off.
 */
#pragma once

#include "bpf/packet/icmp.h"
#include "bpf/packet/parse.h"

enum {
    CUT_KEPT_MAX = 8192, /* the longest half; a power of two */
    CUT_FRAGMENT = 512,  /* bpf_csum_diff() takes no more before Linux 6.13 */
    CUT_FRAGMENTS = 20,  /* packets of devices with 9000 and some more bytes */
    CUT_REQUEST = 40,    /* behind where a request to complete a checksum can point to */
    CUT_MORE = 0x2000,   /* of frag_off: fragments follow */
    CUT_WHOLE = -1,      /* the packet is unchanged: it can't be fragmented */
    CUT_LOST = -2,
};

struct cut_room {
    __u8 bytes[CUT_KEPT_MAX]; /* of the second half */
    __u8 first[CUT_KEPT_MAX];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cut_room);
} cut_room SEC(".maps");

ALWAYS_INLINE struct cut_room *cut_room_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&cut_room, &zero);
}

ALWAYS_INLINE int may_cut(const struct packet *packet)
{
    return packet->cuttable && packet->family == 4 &&
           (packet->shape == SHAPE_PORTS || packet->shape == SHAPE_FIRST ||
            packet->shape == SHAPE_LATER || packet->shape == SHAPE_ICMP);
}

/*
 * Adds the bytes from an offset on to a sum, CUT_FRAGMENT at most. Returns the folded sum, or a
 * negative number.
 */
GLOBAL int cut_add(struct __sk_buff *skb, __u32 offset, __u32 sum)
{
    struct cut_room *room = cut_room_get();
    __u32 size = skb->len - offset;
    if (!room || offset >= skb->len)
        return -1;
    __builtin_memset(room->bytes, 0, CUT_FRAGMENT);
    size = size < CUT_FRAGMENT ? size : CUT_FRAGMENT;
    barrier_var(size);
    size = ((size - 1) & (CUT_FRAGMENT - 1)) + 1;
    if (bpf_skb_load_bytes(skb, offset, room->bytes, size) < 0)
        return -1;
    __s64 added = bpf_csum_diff(NULL, 0, (void *)room->bytes, CUT_FRAGMENT, sum);
    return added < 0 ? -1 : (int)icmp_fold((__u32)added);
}

/* The folded sum of all bytes from an offset on; or a negative number. */
GLOBAL int cut_sum(struct __sk_buff *skb, __u32 offset)
{
    int sum = 0;
#pragma unroll
    for (int i = 0; i < CUT_FRAGMENTS; i++) {
        if (offset >= skb->len)
            return sum;
        sum = cut_add(skb, offset, (__u32)sum);
        if (sum < 0)
            return sum;
        offset += CUT_FRAGMENT;
    }
    return offset < skb->len ? -1 : sum;
}

/* Completes the checksum at `field`, which has the sum of the addresses, and cancels the request to
 * do so. Returns 0, or a negative number: the packet may have been changed. */
GLOBAL int cut_complete(struct __sk_buff *skb, __u32 field)
{
    __u8 kept[CUT_REQUEST];
    int sum = cut_sum(skb, L3 + sizeof(struct iphdr));
    if (sum < 0 || bpf_skb_load_bytes(skb, L3, kept, sizeof(kept)) < 0)
        return -1;
    __u16 check = (__u16)~sum;
    if (!check)
        check = 0xffff;
    if (bpf_skb_adjust_room(skb, -CUT_REQUEST, BPF_ADJ_ROOM_MAC, 0) ||
        bpf_skb_adjust_room(skb, CUT_REQUEST, BPF_ADJ_ROOM_MAC, 0) ||
        bpf_skb_store_bytes(skb, L3, kept, sizeof(kept), 0))
        return -1;
    return (int)bpf_skb_store_bytes(skb, field, &check, sizeof(check), 0);
}

/* A half's size, with bounds that the verifier sees; Linux 6.1 loses them on the stack. */
ALWAYS_INLINE __u32 cut_size(__u32 size)
{
    barrier_var(size);
    return ((size - 1) & (CUT_KEPT_MAX - 1)) + 1;
}

/* Turns the packet into the fragment with these bytes. Returns 0, or non-zero on failure. */
ALWAYS_INLINE int cut_put(struct __sk_buff *skb, struct iphdr *ip, __u32 fragment,
                          const __u8 *bytes, __u32 size)
{
    __u32 length = sizeof(*ip) + size;
    ip->tot_len = bpf_htons((__u16)length);
    ip->frag_off = bpf_htons((__u16)fragment);
    ip->check = 0;
    ip->check = (__u16)~icmp_fold((__u32)bpf_csum_diff(NULL, 0, (void *)ip, sizeof(*ip), 0));
    if (bpf_skb_change_tail(skb, L3 + length, 0) ||
        bpf_skb_store_bytes(skb, L3, ip, sizeof(*ip), 0))
        return -1;
    return (int)bpf_skb_store_bytes(skb, L3 + sizeof(*ip), bytes, cut_size(size),
                                    BPF_F_RECOMPUTE_CSUM);
}

/*
 * Fragments the packet in two, the first as large as `limit` allows: the packet becomes the first,
 * and the second enters again. Returns 0; or CUT_WHOLE; or another negative number: it is lost.
 */
GLOBAL int cut(struct __sk_buff *skb, __u32 limit)
{
    enum { HEAD = sizeof(struct iphdr) };
    struct iphdr ip;
    struct cut_room *room = cut_room_get();
    if (!room || skb->gso_size || bpf_skb_load_bytes(skb, L3, &ip, sizeof(ip)) < 0)
        return CUT_WHOLE;
    __u32 length = bpf_ntohs(ip.tot_len), fragment = bpf_ntohs(ip.frag_off);
    __u32 first = (limit - HEAD) & ~7u, second = length - HEAD - first;
    if (ip.ihl != 5 || length + L3 != skb->len || limit < 2 * HEAD || length <= HEAD + first ||
        first > CUT_KEPT_MAX || second > CUT_KEPT_MAX)
        return CUT_WHOLE;
    __u32 field = L3 + HEAD + (ip.protocol == IPPROTO_UDP ? 6 : 16);
    if (!(fragment & 0x3fff) && ip.protocol != IPPROTO_ICMP && icmp_partial(skb, field) &&
        cut_complete(skb, field) < 0)
        return CUT_LOST;
    if (bpf_skb_load_bytes(skb, L3 + HEAD, room->first, cut_size(first)) < 0 ||
        bpf_skb_load_bytes(skb, L3 + HEAD + first, room->bytes, cut_size(second)) < 0 ||
        cut_put(skb, &ip, fragment + first / 8, room->bytes, second) ||
        bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS) < 0)
        return CUT_LOST;
    return cut_put(skb, &ip, fragment | CUT_MORE, room->first, first) ? CUT_LOST : 0;
}
