/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the chains of nftables, including those of iptables-nft, accept a packet: read from the
 * kernel and evaluated rule by rule, as the kernel does.
 *
 * Of the packet only its protocol and port are known, that it begins a connection, and that it
 * comes from outside. Other matches of a rule (sources, interfaces, rates) may match or not: so
 * "dropped" is reported only where no rule could accept the packet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet to this host. */
struct inlet_packet {
    uint8_t protocol;  /* IPPROTO_TCP or IPPROTO_UDP */
    uint16_t port;     /* destination port, in host order */
    uint32_t unmarked; /* bits that are certainly not set in its mark */
};

struct inlet;

/*
 * Reads all chains at `input` and all chains that they jump to. Returns 0, -EOPNOTSUPP or -EINVAL
 * where the kernel has no nftables, -EFBIG where there are too many rules to evaluate, or -errno.
 */
int inlet_open(struct inlet **ret_inlet);
void inlet_close(struct inlet *inlet);

/*
 * Returns 1 if a chain drops the packet, with its family, table and name ("inet fw in"), 0 if each
 * may accept it, or -errno. `families`: whether IPv4 and IPv6 count.
 */
int inlet_drops(struct inlet *inlet, const struct inlet_packet *packet, const bool families[2],
                char *buffer, size_t size);
