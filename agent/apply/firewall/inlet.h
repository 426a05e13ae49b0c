/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the chains of nftables, those of iptables-nft included, let a packet in: read from the
 * kernel and followed rule by rule, as the kernel would.
 *
 * Of the packet only its protocol and its port are known, that it begins a connection, and that it
 * comes from outside. What a rule asks beside that (sources, interfaces, rates) it may meet or
 * not: so "dropped" is said only where no rule could accept it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet that comes to this host. */
struct inlet_packet {
    uint8_t protocol;  /* IPPROTO_TCP or IPPROTO_UDP */
    uint16_t port;     /* where it goes, in the host's order */
    uint32_t unmarked; /* bits that its mark lacks for certain */
};

struct inlet;

/*
 * Reads all chains at `input` with what they lead to. Returns 0, -EOPNOTSUPP or -EINVAL where the
 * kernel has no nftables, -EFBIG where there are too many rules to follow, or -errno.
 */
int inlet_open(struct inlet **ret_inlet);
void inlet_close(struct inlet *inlet);

/*
 * Returns 1 if a chain drops the packet, with its family, table and name ("inet fw in"), 0 if each
 * may let it in, or -errno. `families`: whether IPv4 and IPv6 count.
 */
int inlet_drops(struct inlet *inlet, const struct inlet_packet *packet, const bool families[2],
                char *buffer, size_t size);
