/* SPDX-License-Identifier: Apache-2.0 */
/* What the claims are made of, for claims.c, claim_turn.c, claim_kernel.c and claim_tell.c.
 * Internal to segment/. */
#pragma once

#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "loop/deferred.h"
#include "loop/timer.h"
#include "plan/announcing.h"
#include "segment/claims.h"
#include "segment/wire.h"

struct claim_address {
    struct ip ip;
    char service[330];
    uint32_t ifindex; /* 0: none of this node's */
    uint8_t mac[6];
    char interface[16];
    struct announcing announcing;
    bool installed; /* the kernel keeps it for us */
    int error;      /* of the kernel, when it was to be; 0: none */
};

struct own_claim {
    struct claims *claims;
    char key[HOLDING_KEY_MAX];
    struct tenure tenure;
    struct claim_request *request; /* NULL: none is under way */
    VEC(struct claim_address) addresses;
    VEC(struct placement_node) nodes; /* with names of their own; since_ms: CLOCK_BOOTTIME */
    enum placement_reason reason;
    bool wanted;           /* it is claimed still */
    bool has_right;        /* as it was looked at last */
    int64_t held_since_ms; /* since when it has the right */
    enum claim_state told; /* and since when that is so */
    int64_t since_wall_ms;
    unsigned failures; /* of the store, in a row */
    char trouble[256]; /* of the last */
    const char *remedy;
};

struct claims {
    struct claims_options options;
    char *node;
    struct nl_socket *netlink;
    struct wires *wires;
    struct timer *timer;
    struct deferred *turn;
    VEC(struct own_claim *) list; /* by key */
    bool begun;                   /* claims_take() was called */
    struct sorted kept;    /* struct kept_address: as the kernel has it, as of the last look */
    struct sorted applied; /* likewise, as it was wanted then */
    bool look;             /* at the kernel, be anything wanted anew or not */
    int64_t looked_ms;
    int64_t skew_ms; /* CLOCK_BOOTTIME before CLOCK_MONOTONIC, at the last turn */
    char watch_trouble[256];
    const char *watch_remedy;
};

/* ---- claim_turn.c: one claim and the store ---- */

/* Its rank among the nodes, and what follows from its right for its addresses. */
void claim_rank(struct own_claim *claim, int64_t now_ms);
/* Asks what is to be asked. */
void claim_ask(struct own_claim *claim, int64_t now_ms);
void claim_heard(struct own_claim *claim, const struct lease_record *record, const char *version,
                 int64_t now_ms);
/* When there is something to do without an event. */
int64_t claim_next_ms(const struct own_claim *claim, int64_t now_ms);
/* Nothing of it is left to be done. */
bool claim_is_over(const struct own_claim *claim);

/* ---- claim_kernel.c: what the kernel keeps ---- */

/* Takes over what an earlier life of the agent has left there. Returns 0 or -errno. */
int claims_inherit(struct claims *claims, int64_t now_ms);
/* Has the kernel keep what there is a right to, and nothing else of ours. */
void claims_keep(struct claims *claims, int64_t now_ms);
/* Until when the kernel has an address of before; 0: not at all. */
int64_t claims_kept_until(const struct claims *claims, const struct claim_address *address);

/* ---- claim_wire.c: what is said and heard ---- */

void claims_listen(struct claims *claims);
void claim_speak(struct own_claim *claim, int64_t now_ms);
void claims_on_heard(void *context, uint32_t ifindex, const struct segment_claim *heard);

/* ---- claim_tell.c ---- */

void claims_tell(struct claims *claims);
