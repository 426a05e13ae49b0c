/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values in which the live maps of egress answer questions. They have no owner: apply fills
 * them in when it is asked, api prints them, so that neither room needs to know the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "bpf/egress_abi.h"
#include "status/packet_seen.h"

/* The two sides of egress that a node may have. */
enum egress_side { EGRESS_SIDE_CLIENT, EGRESS_SIDE_GATEWAY, EGRESS_SIDES };

const char *egress_side_name(enum egress_side side); /* "client", "gateway" */

/* "no-gateway": stable words, part of the API. And a sentence for people. */
const char *egress_cause_name(enum egress_cause cause);
const char *egress_cause_text(enum egress_cause cause);

/* Packets that were dropped or answered for one cause since the maps were made, and the last. */
struct egress_refusal {
    enum egress_cause cause;
    uint64_t count;
    struct packet_seen last;
};

/* Source ports that a client has at a gateway. */
struct egress_block {
    struct ip address;
    uint16_t first, last;
    int64_t since_wall_ms;
};

/* How the blocks of a gateway are spread. */
struct egress_holders {
    uint32_t blocks, clients;
    uint32_t idle;     /* of the clients: without a flow in the last rounds of the sweep */
    uint32_t most;     /* that a client has, */
    struct ip address; /* this one */
};

/* What a client does at a gateway, since it became one. */
struct egress_client_use {
    uint64_t packets, bytes; /* both directions */
    uint64_t flows, refused; /* begun; not begun for want of a port or of room */
    size_t block_count;
    struct egress_block blocks[EGRESS_BLOCKS_MAX]; /* in the order in which they are tried */
};

/* Whether a gateway is in service, for those outside. */
enum egress_phase {
    EGRESS_SERVING,
    EGRESS_LEAVING_SERVICE,
    EGRESS_OUT_OF_SERVICE,
    EGRESS_STALE_SERVICE, /* it serves whom it knows, and learns of no new clients */
    EGRESS_PHASES,
};

/* "serving", "draining", "withdrawn", "stale" */
const char *egress_phase_name(enum egress_phase phase);

struct egress_gateway_use {
    struct ip own[2];                        /* IPv4, IPv6: where clients reach it */
    struct ip source[2][EGRESS_SOURCES_MAX]; /* what packets get; IP_NONE: nothing here */
    uint16_t first_port, last_port;
    uint32_t block; /* ports of a block */
    uint32_t blocks, blocks_used;
    uint32_t longest_search; /* ports that were tried for one flow, at most */
    uint64_t flows;          /* that lived at the last round of the sweep, */
    int64_t flows_wall_ms;   /* which ended then; 0: none has ended */
    enum egress_phase phase;
    uint64_t connections; /* that a drain waits for */
};
