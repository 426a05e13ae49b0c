/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a packet's IP header begins: behind an Ethernet header, or at once.
 *
 * At tc a packet begins as its device has it. IP tunnels, WireGuard, tun and PPP have no header
 * before IP's (Linux, dev_is_mac_header_xmit()). For these the agent loads the programs a second
 * time, with L3 set to 0. The verifier takes L3 for the constant that it is, so nobody pays for a
 * choice.
 *
 * The helpers that hand a packet to a device with Ethernet headers want one on it, and so does
 * bpf_redirect_neigh() for every device (net/core/filter.c): they drop it otherwise. head_put()
 * gives it one.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_helpers.h>

/* Verdicts of programs at a hook, of tc and TCX alike. */
enum {
    NEXT = -1, /* other programs attached here, then the stack */
    SHOT = 2,  /* dropped */
};

const volatile __u32 L3 SEC(".rodata.start") = ETH_HLEN;

/*
 * A packet without an Ethernet header gets one: zeros, and what kind of packet it is. Returns 0, or
 * -1: there is no room. Pointers into the packet are invalid afterwards.
 */
static __always_inline int head_put(struct __sk_buff *skb)
{
    __be16 protocol = (__be16)skb->protocol;

    if (L3)
        return 0;
    return bpf_skb_change_head(skb, ETH_HLEN, 0) ||
                   bpf_skb_store_bytes(skb, 2 * ETH_ALEN, &protocol, sizeof(protocol), 0)
               ? -1
               : 0;
}
