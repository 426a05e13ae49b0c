/* SPDX-License-Identifier: Apache-2.0 */
/* A packet that a program has recorded, for operators: the last one that NAT or egress refused. */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"

struct packet_seen {
    int64_t mono_ms; /* when, by CLOCK_MONOTONIC */
    struct ip source, destination;
    uint16_t source_port, destination_port; /* 0: not known, or the protocol has none */
    uint8_t protocol;                       /* as in the IP header */
    uint32_t ifindex;                       /* where it was seen; 0: not known */
};
