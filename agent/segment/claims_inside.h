/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of the claims, for claims.c and the files named below. Internal to segment/. */
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

enum { ASKING_MOST = 16 }; /* requests at once; fewer than loop/curl.c keeps connections */

struct claim_address {
    struct ip ip;
    char service[330];
    uint32_t ifindex; /* 0: on no interface of this node */
    uint8_t mac[6];
    char interface[16];
    struct announcing announcing;
    bool installed; /* the kernel has the address */
    int error;      /* -errno of adding it to the kernel; 0: none */
};

struct own_claim {
    struct claims *claims;
    char key[HOLDING_KEY_MAX];
    struct lease lease;
    struct claim_request *request; /* NULL: none is under way */
    VEC(struct claim_address) addresses;
    struct contenders *others; /* the other eligible nodes, shared; since_ms: CLOCK_BOOTTIME */
    enum placement_reason reason;
    bool lacks;                         /* this node has no endpoint of a port that others have */
    char gave_back[LEASE_HOLDER_MAX];   /* the last other node that held it */
    char passed_over[LEASE_HOLDER_MAX]; /* a node that did not keep or take it; "": none */
    unsigned passed_times;              /* in a row */
    int64_t passed_until_ms;            /* the node is not waited for before */
    bool wanted;                        /* it is still claimed */
    bool has_right;                     /* at the last check */
    bool cut_off; /* the store was not reachable: another node may hold it without this node's
                     knowledge */
    int64_t held_since_ms; /* since when this node has the right */
    int64_t nobody_ms;     /* since when it has no holder while this node is excluded; 0: not so */
    enum claim_state told; /* the reported state, and since when */
    int64_t since_wall_ms;
    int64_t read_ms;      /* when it was read last */
    unsigned failures;    /* of the store, in a row */
    unsigned not_written; /* writes that failed, in a row: reads may succeed without the right to
                             write */
    bool told_to_wait;    /* the last failure asks for a delay of a second or more */
    bool conflicted;      /* its last write had a conflict, and nothing was read since */
    bool unstored;        /* the same, but the store reported that write as done */
    char conflict[LEASE_VERSION_MAX]; /* the version that the write was based on; "": none */
    char trouble[256];                /* of the last failure */
    const char *remedy;
    int64_t slowest_ms; /* slowest write, while writes are too slow; 0: they are not */
};

/* The deletion of a record that no claim wants; one is under way at a time. */
struct claim_removal {
    struct claim_request *request; /* NULL: none is under way */
    char key[HOLDING_KEY_MAX];     /* of the last */
    unsigned failures;             /* in a row */
    int64_t not_before_ms;
    char trouble[256]; /* of the last */
    const char *remedy;
};

/* A list of nodes that was made in this pass; each is shared. */
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
    struct sorted kept;    /* struct kept_address: in the kernel, at the last read */
    struct sorted applied; /* likewise, as wanted at that time */
    bool look;             /* read the kernel, even if what is wanted has not changed */
    int64_t looked_ms;
    int64_t skew_ms;   /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC, at the last turn */
    int64_t answer_ms; /* duration of the store's last answer */
    unsigned asking;   /* requests of claims that are under way */
    size_t ask_next;   /* the first claim that had to wait for a free request; it is served first */
    int64_t woke_ms;   /* after the last sleep; 0: there was none */
    struct address_probe address_probe;
    size_t scouted; /* the claim that was probed last */
    struct telling telling;
    telling_hosts hosts; /* claim_neighbours.c: neighbours of the interface below, at hosts_ms */
    uint32_t hosts_ifindex;
    int64_t hosts_ms;
    struct sorted records; /* claim_records.c: records of the store, as last reported */
    struct claim_removal removal;
    bool hears;            /* the watch is established: all records are known */
    int64_t watch_lost_ms; /* since when it is interrupted; 0: it is not, or was never tried */
    char watch_trouble[256];
    const char *watch_remedy;
};

/* ---- claim_answers.c: whether the kernel answers ARP for held addresses ---- */

int claim_answers_begin(struct claims *claims);
void claim_answers_end(struct claims *claims);

/* ---- claim_list.c ---- */

/* Index of the first claim whose key is not before this key. */
size_t claims_place(const struct claims *claims, const char *key);
/* NULL: there is none. */
struct own_claim *claims_find(const struct claims *claims, const char *key);

/* ---- claim_turn.c: one claim and the store ---- */

/* Passes the store's answer time to all claims, requests without an answer yet included. */
void claims_pace(struct claims *claims, int64_t now_ms);
/* Computes the node's rank for the claim, and applies the right to its addresses. */
void claim_rank(struct own_claim *claim, int64_t now_ms);
/* Sends the next request, if one is due. */
void claim_ask(struct own_claim *claim, int64_t now_ms);
/*
 * The same for all claims, limited to ASKING_MOST requests at once: a node that takes over hundreds
 * of claims would otherwise open hundreds of connections to the store. Claims of this node and
 * started ones are first, then claims for which this node has the first rank.
 */
void claims_ask(struct claims *claims, int64_t now_ms);
void claim_heard(struct own_claim *claim, const struct lease_record *record, const char *version,
                 int64_t now_ms);
/*
 * The holder by the record, this node included; "": there is none, or its time is over. While the
 * watch is interrupted, the last known holder.
 */
const char *claim_holder(const struct own_claim *claim, int64_t now_ms);
/* When something is due without an event. */
int64_t claim_next_ms(const struct own_claim *claim, int64_t now_ms);
/*
 * Since when another node holds it by a record that is not renewed and that binds for long, as one
 * that was written by hand. INT64_MAX: that is not so, and time alone does not change it.
 */
int64_t claim_stuck_ms(const struct own_claim *claim);
/* When it has had no holder for long while this node is excluded; INT64_MAX likewise. */
int64_t claim_nobody_ms(const struct own_claim *claim);
/* True if another node holds it by its record. */
bool claim_is_anothers(const struct own_claim *claim);
/* True if nothing is left to be done for it. */
bool claim_is_over(const struct own_claim *claim);

/* ---- claim_nodes.c: the other eligible nodes ---- */

/* Merges the nodes of the plan with the times that are known. Returns 0 or -ENOMEM. */
int claim_nodes_take(struct own_claim *claim, struct contenders *planned, int64_t now_ms);
/* To be called after all claims were taken, or some were freed. */
void claim_nodes_settle(struct claims *claims);
void claim_nodes_end(struct claims *claims);

/* ---- claim_records.c: records that no claim wants ---- */

void claim_records_begin(struct claims *claims);
/* Notes the current record (NULL: there is none); `released_here`: by a write of this node. */
void claim_records_note(struct claims *claims, const char *key, const struct lease_record *record,
                        const char *version, bool released_here);
/* Deletes a record that is due. */
void claim_records_tidy(struct claims *claims, int64_t now_ms);
int64_t claim_records_next_ms(const struct claims *claims);
void claim_records_end(struct claims *claims);

/* ---- claim_kernel.c: what the kernel keeps ---- */

/* Adopts the addresses that an earlier run of the agent left in the kernel. Returns 0 or -errno. */
int claims_inherit(struct claims *claims, int64_t now_ms);
/* Has the kernel keep the addresses that this node has the right to, and no others of ours. */
void claims_keep(struct claims *claims, int64_t now_ms);
/* Until when the kernel has an address by the last read; 0: it has not. */
int64_t claims_kept_until(const struct claims *claims, const struct claim_address *address);

/* ---- claim_wire.c: ARP and NA, sent and received ---- */

void claims_listen(struct claims *claims);
void claim_speak(struct own_claim *claim, int64_t now_ms);
void claims_on_heard(void *context, uint32_t ifindex, const struct segment_claim *heard);

/* ---- claim_probe.c: probes on the segment while the store is not reachable ---- */

void claims_probe(struct claims *claims, int64_t now_ms);
/* Another host announced an address of the claim. */
void claim_probe_heard(struct own_claim *claim, int64_t now_ms);

/* ---- claim_neighbours.c: announcements to each neighbour ---- */

/* The address was added to this node. */
void claim_tell_neighbours(struct claims *claims, const struct claim_address *address,
                           int64_t now_ms);
/* Sends the announcements that are due. */
void claims_tell_neighbours(struct claims *claims, int64_t now_ms);
void claim_neighbours_end(struct claims *claims);

/* ---- claim_tell.c ---- */

/* When an interrupted watch is to be reported; INT64_MAX: never, or it was reported. */
int64_t claims_deaf_next_ms(const struct claims *claims, int64_t now_ms);

void claims_tell(struct claims *claims);
