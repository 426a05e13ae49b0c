/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that one node of a segment has at a time, as this node sees them. Written by segment/,
 * read by api. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/vec.h"

enum claim_state {
    CLAIM_BARRED,  /* this node may not have it */
    CLAIM_WAITING, /* no known node has it, or the holder's lease has not expired yet */
    CLAIM_OTHER,   /* another node has it */
    CLAIM_TAKING,  /* this node has the lease, and probes whether another host uses the address */
    CLAIM_TAKEN,   /* this node has the lease, but a foreign host uses the address */
    CLAIM_HELD,
    CLAIM_STATES,
};

/* "held": part of the API. */
const char *claim_state_name(enum claim_state state);

struct claim_row {
    struct ip ip;
    char key[200];      /* of its Lease */
    char service[330];  /* "namespace/name"; "": the node's own */
    char interface[16]; /* of this node, where it is or would be; "": none */
    enum claim_state state;
    char holder[256]; /* by the record; "": none */
    int64_t since_wall_ms;
    int64_t renewed_ms; /* CLOCK_BOOTTIME: last renewal of this node's lease; 0: never */
    char why[256];      /* "": it is held */
};

typedef VEC(struct claim_row) claim_row_list;

/* Since the start, but for the first two. */
struct claim_counts {
    uint32_t claims, held;
    uint64_t gained, lost;          /* addresses that this node has acquired and lost */
    uint64_t conflicts;             /* address conflicts: another host announced such an address */
    uint64_t probes, announcements; /* frames */
    uint64_t requests, failures;    /* to the store */
};
