/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragmented packets of pods: the first fragment has ports, and the later ones follow it to its
 * gateway, or are accepted from the gateway that it came from. The gateway is stored in a pin, as
 * for flows (egress_pin_table.h), so that no pod can evict entries that another pod's fragments
 * need. The key is the pod's address, the remote address, the identification, and a number that no
 * protocol uses.
 */
#pragma once

#include "bpf/egress/egress_pin_table.h"

ALWAYS_INLINE void fragment_key(const struct nat_tuple *tuple, __u8 family, __u32 id,
                                __u8 direction, struct nat_tuple *ret_key)
{
    __builtin_memset(ret_key, 0, sizeof(*ret_key));
    ret_key->src = direction == FRAGMENT_SENT ? tuple->src : tuple->dst;
    ret_key->dst = direction == FRAGMENT_SENT ? tuple->dst : tuple->src;
    ret_key->sport = (__be16)id;
    ret_key->dport = family == 4 ? tuple->protocol : (__be16)(id >> 16);
    ret_key->protocol = direction;
}

/*
 * `gateway`: its index | EGRESS_PIN_TRANSLATED, or EGRESS_PIN_INBOUND: the packet is routed
 * normally.
 */
SUBPROGRAM int fragment_put(const struct nat_tuple *tuple, __u8 family, __u32 id, __u8 direction,
                            __u32 gateway)
{
    struct egress_pin pin = { .gateway = gateway, .used_s = now_s() };
    fragment_key(tuple, family, id, direction, &pin.key);
    pin_put(&pin);
    return 0;
}

/* Finds the gateway of a packet's first fragment. Returns 0 if that was not seen. */
SUBPROGRAM int fragment_find(const struct nat_tuple *tuple, __u8 family, __u32 id, __u8 direction,
                             __u32 *ret_gateway)
{
    struct nat_tuple key;
    fragment_key(tuple, family, id, direction, &key);
    const struct egress_pin *found = pin_get(&key);
    if (!found || pin_over(found, now_s()))
        return 0;
    *ret_gateway = found->gateway;
    return 1;
}
