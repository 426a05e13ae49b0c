/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of queries to the live maps of egress. They are not kept: apply fills them in on request,
 * api prints them, so that neither room includes the other.
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

/* "no-gateway": a stable word, part of the API. And a sentence for operators. */
const char *egress_cause_name(enum egress_cause cause);
const char *egress_cause_text(enum egress_cause cause);

/*
 * Packets that were dropped or rejected for one cause since the maps were created, and the last
 * one.
 */
struct egress_refusal {
    enum egress_cause cause;
    uint64_t count;
    struct packet_seen last;
};

/* A block of source ports that a client has at a gateway. */
struct egress_block {
    struct ip address;
    uint16_t first, last;
    int64_t since_wall_ms;
};

/* How the port blocks of a gateway are distributed. */
struct egress_holders {
    uint32_t blocks, clients;
    uint32_t idle;     /* of the clients: without a flow in the last rounds of the sweep */
    uint32_t most;     /* the largest number that one client has, */
    struct ip address; /* this one */
};

/* Counters of a client at a gateway, since it became one. */
struct egress_client_use {
    uint64_t packets, bytes; /* both directions */
    uint64_t flows, refused; /* started; refused for lack of a port or of table space */
    size_t block_count;
    struct egress_block blocks[EGRESS_BLOCKS_MAX]; /* in order of use */
};

/* Whether a gateway is in service, as clients' nodes see it. */
enum egress_phase {
    EGRESS_SERVING,
    EGRESS_LEAVING_SERVICE,
    EGRESS_OUT_OF_SERVICE,
    EGRESS_STALE_SERVICE, /* it serves its known clients, and does not learn new ones */
    EGRESS_PHASES,
};

/* "serving", "draining", "withdrawn", "stale" */
const char *egress_phase_name(enum egress_phase phase);

struct egress_gateway_use {
    struct ip own[2];                        /* IPv4, IPv6: addresses at which clients reach it */
    struct ip source[2][EGRESS_SOURCES_MAX]; /* of packets that are sent on; IP_NONE: unused */
    uint16_t first_port, last_port;
    uint32_t block; /* ports per block */
    uint32_t blocks, blocks_used;
    uint32_t longest_search; /* most ports that were tried for one flow */
    uint64_t flows;          /* alive in the last round of the sweep, */
    int64_t flows_wall_ms;   /* which ended then; 0: none has ended */
    enum egress_phase phase;
    uint64_t connections; /* that a drain waits for */
};
