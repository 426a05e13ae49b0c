/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node is to have an address that one node of a segment has: who may, and in which order.
 *
 * The order is rendezvous hashing over the names of nodes: each node computes it alike, an address
 * that loses its holder goes to the next of its own order, so that those of a lost node spread over
 * all others, and nothing else moves. It does not depend on who starts first.
 *
 * Who has an address keeps it. To a node that is before it in the order, and has been able to for
 * the fail-back delay without a break, it hands over; it does so only after it had the address for
 * that delay itself, so that a node which looks able, and never takes what it is handed, costs a
 * move per delay and no more.
 *
 * Pure. plan/claims/lease_state.h makes the rank come true: without one, an address is given back.
 */
#pragma once

#include <stdint.h>

#include "model/node.h"
#include "plan/claims/contenders.h"
#include "plan/facts.h"
#include "plan/link_table.h"

/* Why a node may not have an address. */
enum placement_reason {
    PLACEMENT_MAY,
    PLACEMENT_NO_NODE, /* there is no such Node object */
    PLACEMENT_NOT_READY,
    PLACEMENT_NO_NETWORK, /* condition NetworkUnavailable */
    PLACEMENT_EXCLUDED,   /* label node.kubernetes.io/exclude-from-external-load-balancers */
    PLACEMENT_LEAVING,    /* about to be deleted by an autoscaler */
    PLACEMENT_NO_INTERFACE,
    PLACEMENT_LINK_DOWN,   /* or without a carrier */
    PLACEMENT_PORT,        /* of a bridge or the like, whose frames are not its own */
    PLACEMENT_OTHER_NODES, /* the L2Advertisements leave this node out */
    PLACEMENT_OTHER_LINKS, /* they leave its interface out */
    PLACEMENT_UNUSED_LINK, /* addresses.interfaces does */
    PLACEMENT_NO_ENDPOINT, /* policy Local, and none here; or none anywhere */
    PLACEMENT_NOT_PROVED,  /* by NAT */
    PLACEMENT_STANDING,    /* this node is drained, withdrawn or gone */
    PLACEMENT_REASONS,
};

/* What it means, for an operator: "the Node is not Ready"; static. */
const char *placement_words(enum placement_reason reason);

/*
 * By what all nodes know of one: its object; NULL: there is none. Cordoned nodes may. `written`: it
 * is of a folder, where nobody watches over it, so that one that says nothing of being ready is.
 */
enum placement_reason placement_of_node(const struct node *node, bool written);

/* Whether `ip` is on the network of an interface's own address; one that is a host's has none. */
bool placement_is_on(const struct link_address *address, const struct ip *ip);

/*
 * By what a node knows of itself: the Ethernet interface that is up, no port of a bridge or the
 * like, and has an address in whose network `ip` is; the longest network counts, then the lowest
 * index. `interface`: only the one of this name; NULL: any. `*ret_link` is borrowed from the facts,
 * NULL unless the node may.
 */
enum placement_reason placement_on_link(const struct node_facts *facts, const struct ip *ip,
                                        const char *interface, const struct link **ret_link);

/* FAILBACK_NEVER: who has an address keeps it for as long as it may. */
enum { FAILBACK_NEVER = -1 };

/* One address, or several that have to stay together. All borrowed. */
struct placement {
    const struct contenders *others; /* the other nodes that may; NULL: none */
    bool may, lacks;                 /* this node may; it lacks a port that others have */
    const char *key;       /* what the order is made of: the address, or the group's name */
    const char *self;      /* this node */
    const char *holder;    /* who has it by the record; "": nobody */
    int64_t held_since_ms; /* if that is this node: since when */
    int64_t failback_ms;
    /* A node that did not take or keep it when it could have: nothing goes back to it before then.
     * "": none is known. */
    const char *passed_over;
    int64_t passed_until_ms;
};

/*
 * Nodes that lack a port come after all others; from one that has the address it goes to such a
 * node soon, if addresses go back at all.
 */

/* The first of the other nodes that come before this one, by name; NULL: none does. Borrowed. */
const char *placement_first(const struct placement *placement);

/*
 * After how many others this node takes it, the present holder left out; 0 for a holder that keeps
 * it; LEASE_NO_RANK (plan/claims/lease_state.h) if it is not to have it.
 */
int32_t placement_rank(const struct placement *placement, int64_t now_ms);

/* When the holder's own rank changes with nothing but time; INT64_MAX: never. */
int64_t placement_next_ms(const struct placement *placement);
