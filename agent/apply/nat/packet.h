/* SPDX-License-Identifier: Apache-2.0 */
/* The first packet of a flow, made of plain values: what the twin is shown. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/protocol.h"

enum { NAT_PACKET_MAX = 14 + 40 + 20 }; /* Ethernet, IPv6, TCP */

struct nat_packet {
    struct ip source, destination;
    uint16_t source_port, destination_port;
    enum protocol protocol;
};

/*
 * Writes Ethernet, IPv4 or IPv6, and a TCP SYN, an empty UDP datagram or a bare SCTP header, with
 * right checksums (SCTP's is zero). Returns the length; 0 if the addresses are of two families, or
 * of none.
 */
size_t nat_packet_build(const struct nat_packet *packet, uint8_t buffer[static NAT_PACKET_MAX]);
