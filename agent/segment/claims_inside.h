/* SPDX-License-Identifier: Apache-2.0 */
/* What the claims are made of, for claims.c and the files named below. Internal to segment/. */
#pragma once

#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "loop/deferred.h"
#include "loop/timer.h"
#include "plan/claims/address_probe.h"
#include "plan/claims/announcing.h"
#include "plan/claims/telling.h"
#include "segment/claims.h"
#include "segment/wire.h"

enum { ASKING_MOST = 16 }; /* requests at once; below what loop/curl.c keeps connections for */

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
    struct lease lease;
    struct claim_request *request; /* NULL: none is under way */
    VEC(struct claim_address) addresses;
    struct contenders *others; /* the other nodes that may, shared; since_ms: CLOCK_BOOTTIME */
    enum placement_reason reason;
    bool lacks;                         /* this node has no endpoint of a port that others have */
    char gave_back[LEASE_HOLDER_MAX];   /* the last other node that had it */
    char passed_over[LEASE_HOLDER_MAX]; /* a node that did not keep or take it; "": none */
    unsigned passed_times;              /* in a row */
    int64_t passed_until_ms;            /* nothing goes back to it before */
    bool wanted;                        /* it is claimed still */
    bool has_right;                     /* as it was looked at last */
    bool cut_off;          /* the store was away: another may have it, and not be heard yet */
    int64_t held_since_ms; /* since when it has the right */
    int64_t nobody_ms;     /* since when nobody may have it, by what is written; 0: not so */
    enum claim_state told; /* and since when that is so */
    int64_t since_wall_ms;
    int64_t read_ms;      /* when it was read last */
    unsigned failures;    /* of the store, in a row */
    unsigned not_written; /* of its writes, in a row: who may not write may read all the same */
    bool told_to_wait;    /* the last failure says for how long, and that is a while */
    bool conflicted;      /* its last write was; nothing was read since */
    bool unstored;        /* the same, but that write was told to be done */
    char conflict[LEASE_VERSION_MAX]; /* the version that it was to be over; "": none */
    char trouble[256];                /* of the last */
    const char *remedy;
    int64_t slowest_ms; /* of writes, since they take too long to keep it; 0: they do not */
};

/* The deletion of a record that nobody wants; one is under way at a time. */
struct claim_removal {
    struct claim_request *request; /* NULL: none is */
    char key[HOLDING_KEY_MAX];     /* of the last */
    unsigned failures;             /* in a row */
    int64_t not_before_ms;
    char trouble[256]; /* of the last */
    const char *remedy;
};

/* A list of nodes as it was made in this pass; each is shared. */
struct node_merge {
    struct contenders *had, *planned, *merged;
};

struct claims {
    struct claims_options options;
    char *node;
    struct nl_socket *netlink;
    struct wires *wires;
    struct timer *timer;
    struct deferred *turn;
    VEC(struct own_claim *) list;        /* by key */
    VEC(struct contenders *) node_lists; /* all that claims have; shared */
    VEC(struct node_merge) node_merges;
    bool begun;            /* claims_take() was called */
    struct sorted kept;    /* struct kept_address: as the kernel has it, as of the last look */
    struct sorted applied; /* likewise, as it was wanted then */
    bool look;             /* at the kernel, be anything wanted anew or not */
    int64_t looked_ms;
    int64_t skew_ms;   /* CLOCK_BOOTTIME before CLOCK_MONOTONIC, at the last turn */
    int64_t answer_ms; /* what the store's last answer took */
    unsigned asking;   /* requests of claims that are under way */
    size_t ask_next;   /* the claim that there was no room for; it comes first */
    int64_t woke_ms;   /* after the last sleep; 0: there was none */
    struct address_probe address_probe;
    size_t scouted; /* the claim that was asked for last */
    struct telling telling;
    telling_hosts hosts; /* claim_neighbours.c: of the interface below, as of then */
    uint32_t hosts_ifindex;
    int64_t hosts_ms;
    struct sorted records; /* claim_records.c: of the store, as they were heard of last */
    struct claim_removal removal;
    bool hears;            /* the watch stands: all records are known */
    int64_t watch_lost_ms; /* since when it does not; 0: it does, or was never tried */
    char watch_trouble[256];
    const char *watch_remedy;
};

/* ---- claim_answers.c: whether the kernel answers for what is held ---- */

int claim_answers_begin(struct claims *claims);
void claim_answers_end(struct claims *claims);

/* ---- claim_list.c ---- */

/* The first claim that is not before the key. */
size_t claims_place(const struct claims *claims, const char *key);
/* NULL: there is none. */
struct own_claim *claims_find(const struct claims *claims, const char *key);

/* ---- claim_turn.c: one claim and the store ---- */

/* Tells all claims how long the store takes to answer, what it has not answered yet included. */
void claims_pace(struct claims *claims, int64_t now_ms);
/* Its rank among the nodes, and what follows from its right for its addresses. */
void claim_rank(struct own_claim *claim, int64_t now_ms);
/* Asks what is to be asked. */
void claim_ask(struct own_claim *claim, int64_t now_ms);
/*
 * The same of all, as many at once as may be under way: a node that takes hundreds of claims of
 * another would shake hands with the store hundreds of times. What is this node's comes first, and
 * what is half done; then what this node is the first to take.
 */
void claims_ask(struct claims *claims, int64_t now_ms);
void claim_heard(struct own_claim *claim, const struct lease_record *record, const char *version,
                 int64_t now_ms);
/*
 * Who has it by its record, this node included; "": nobody, or somebody who has let his time go by.
 * As long as the store is not heard, who had it last.
 */
const char *claim_holder(const struct own_claim *claim, int64_t now_ms);
/* When there is something to do without an event. */
int64_t claim_next_ms(const struct own_claim *claim, int64_t now_ms);
/*
 * Since when another has it by a record that nobody renews, and for long yet: as one has that was
 * written by hand. INT64_MAX: it is not so, and does not come to be with time alone.
 */
int64_t claim_stuck_ms(const struct own_claim *claim);
/* When nobody has had it for long, and what is written keeps this node from it; likewise. */
int64_t claim_nobody_ms(const struct own_claim *claim);
/* Another node has it by its record. */
bool claim_is_anothers(const struct own_claim *claim);
/* Nothing of it is left to be done. */
bool claim_is_over(const struct own_claim *claim);

/* ---- claim_nodes.c: the other nodes that may ---- */

/* What the plan has now, with the times of before. Returns 0 or -ENOMEM. */
int claim_nodes_take(struct own_claim *claim, struct contenders *planned, int64_t now_ms);
/* After all claims were taken, or some were freed. */
void claim_nodes_settle(struct claims *claims);
void claim_nodes_end(struct claims *claims);

/* ---- claim_records.c: records that no claim wants ---- */

void claim_records_begin(struct claims *claims);
/* A record is so now (NULL: there is none); `released_here`: by a write of this node. */
void claim_records_note(struct claims *claims, const char *key, const struct lease_record *record,
                        const char *version, bool released_here);
/* Deletes what is due. */
void claim_records_tidy(struct claims *claims, int64_t now_ms);
int64_t claim_records_next_ms(const struct claims *claims);
void claim_records_end(struct claims *claims);

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

/* ---- claim_probe.c: who is cut off from the store asks on the wire ---- */

void claims_probe(struct claims *claims, int64_t now_ms);
/* Somebody says that he has an address of it. */
void claim_probe_heard(struct own_claim *claim, int64_t now_ms);

/* ---- claim_neighbours.c: each neighbour is told ---- */

/* The address has come here. */
void claim_tell_neighbours(struct claims *claims, const struct claim_address *address,
                           int64_t now_ms);
/* Sends what is due. */
void claims_tell_neighbours(struct claims *claims, int64_t now_ms);
void claim_neighbours_end(struct claims *claims);

/* ---- claim_tell.c ---- */

/* When it is to be told that nothing is heard of others' claims; INT64_MAX: never, or it is told.
 */
int64_t claims_deaf_next_ms(const struct claims *claims, int64_t now_ms);

void claims_tell(struct claims *claims);
