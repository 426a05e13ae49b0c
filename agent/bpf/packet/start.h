/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a packet's IP header begins: behind an Ethernet header, or at once.
 *
 * At tc a packet begins with the header of its device. IP tunnels, WireGuard, tun and PPP have no
 * header before the IP header (Linux, dev_is_mac_header_xmit()). For these the agent loads the
 * programs a second time, with L3 set to 0. The verifier treats L3 as a constant, so there is no
 * runtime cost.
 *
 * The helpers that pass a packet to a device with Ethernet headers require an Ethernet header, and
 * so does bpf_redirect_neigh() for every device (net/core/filter.c): they drop the packet
 * otherwise. head_put() adds one.
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
 * Adds an Ethernet header to a packet without one: zeros, and the packet's protocol. Returns 0, or
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
