/* SPDX-License-Identifier: Apache-2.0 */
/* The first packet of a flow, built from plain values, as input for the twin. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/net/protocol.h"

enum { NAT_PACKET_MAX = 14 + 40 + 20 }; /* Ethernet, IPv6, TCP: the largest */

struct nat_packet {
    struct ip source, destination;
    uint16_t source_port, destination_port; /* of a ping its identifier, and 0 */
    enum protocol protocol;
    uint32_t sequence; /* of a SYN; of a datagram all its data, unless it is 0 */
    uint32_t answered; /* the sequence of the SYN to which this SYN-ACK replies; 0: none */
};

/*
 * Writes an Ethernet header, an IPv4 or IPv6 header, and a TCP SYN, a UDP datagram, a ping
 * or a bare SCTP header, with correct checksums (SCTP's is zero). Returns the length in bytes; 0 if
 * the addresses are of different families, or of none.
 */
size_t nat_packet_build(const struct nat_packet *packet, uint8_t buffer[static NAT_PACKET_MAX]);
