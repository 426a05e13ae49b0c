/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that the twins of egress return, and the contents of their first headers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apply/nat/proof/packet.h"
#include "plan/nat/nat_table.h"

enum { EGRESS_WIRE_MAX = 2 * NAT_PACKET_MAX }; /* a packet of a twin, with outer headers */

struct egress_wire {
    struct nat_endpoint source, destination; /* with ports; of a ping: the identifier, as source */
    uint8_t hops;                            /* TTL or hop limit */
    uint32_t size;                           /* bytes, from the IP header on */
};

/*
 * Writes a frame with an Ethernet header: the packet as its sender's node wraps it for the gateway.
 * Returns the length; 0: the addresses are of different families, or of none.
 */
size_t egress_wire_wrap(const struct nat_packet *inner, const struct nat_endpoint *gateway,
                        uint8_t ret_frame[static EGRESS_WIRE_MAX]);

/* Reads a frame with an Ethernet header. False: there is no IP packet in it. */
bool egress_wire_read(const uint8_t *frame, size_t size, struct egress_wire *ret_wire);
