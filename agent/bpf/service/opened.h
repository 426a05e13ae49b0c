/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mark of packets to opened ports (services.firewall, mode mark). Netfilter sees these packets
 * only after their destination is translated, so an nftables table can't match them; the host's
 * chains match the mark. Each packet is looked up with its original destination, so that a change
 * of the settings applies to existing flows. Without a mark this costs one word of "control".
 */
#pragma once

#include "bpf/service/choose.h"

SUBPROGRAM int is_opened(const struct nat_control *control, const struct nat_tuple *tuple)
{
    const struct nat_frontend_value *frontend =
        frontend_find(&tuple->dst, tuple->dport, tuple->protocol);
    if (!frontend)
        return 0;
    if (frontend->kind == NAT_FRONTEND_NODE_PORT)
        return !!(control->path & NAT_PATH_MARK_NODE_PORTS);
    return frontend->kind == NAT_FRONTEND_LOAD_BALANCER ||
           frontend->kind == NAT_FRONTEND_EXTERNAL_IP;
}

/* `packet`: not translated yet. */
ALWAYS_INLINE void mark_opened(struct __sk_buff *skb, const struct nat_control *control,
                               const struct packet *packet)
{
    if (control->mark && packet->hook == NAT_HOOK_UPLINK_IN && is_opened(control, &packet->tuple))
        skb->mark |= control->mark;
}
