/* SPDX-License-Identifier: Apache-2.0 */
/* Packets as the twins of egress give them out, and what is in their first headers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/nat/nat_table.h"

struct egress_wire {
    struct nat_endpoint source, destination; /* with ports; a ping's identifier as the source's */
    uint8_t hops;                            /* TTL or hop limit */
    uint32_t size;                           /* bytes, from the IP header on */
};

/* Reads a frame with an Ethernet header. False: there is no IP packet in it. */
bool egress_wire_read(const uint8_t *frame, size_t size, struct egress_wire *ret_wire);
