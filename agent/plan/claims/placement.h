/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node is to have an address that one node of a segment has at a time: the eligible nodes and
 * their order.
 *
 * The order is rendezvous hashing over the names of nodes: each node computes the same order. An
 * address that loses its holder goes to the next node of its own order, so that the addresses of a
 * lost node spread over all others, and no other address moves. The order does not depend on which
 * node starts first.
 *
 * A holder keeps its address. It hands the address over to a node with a better rank that has been
 * eligible for the fail-back delay without interruption. It does so only after it had the address
 * for that delay itself, so that a node that seems eligible, but never takes the address, causes at
 * most one move per delay.
 *
 * Pure. plan/claims/lease_state.h applies the rank: without one, an address is released.
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
    PLACEMENT_LINK_DOWN,   /* or without carrier */
    PLACEMENT_PORT,        /* the interface is a port of a bridge or similar */
    PLACEMENT_OTHER_NODES, /* the L2Advertisements exclude this node */
    PLACEMENT_OTHER_LINKS, /* they exclude its interface */
    PLACEMENT_UNUSED_LINK, /* addresses.interfaces excludes its interface */
    PLACEMENT_NO_ENDPOINT, /* policy Local, and none here; or none anywhere */
    PLACEMENT_NOT_PROVED,  /* by NAT */
    PLACEMENT_STANDING,    /* this node is drained, withdrawn or gone */
    PLACEMENT_REASONS,
};

/* What it means, for an operator: "the Node is not Ready"; static. */
const char *placement_words(enum placement_reason reason);

/*
 * Checks a node by its object, as all nodes do; NULL: there is none. Cordoned nodes are eligible.
 * `written`: it is from a manifest, which no controller updates, so that a Node without a Ready
 * condition counts as ready.
 */
enum placement_reason placement_of_node(const struct node *node, bool written);

/* Whether `ip` is in the network of an interface's address; a host address (/32, /128) has none. */
bool placement_is_on(const struct link_address *address, const struct ip *ip);

/*
 * Checks this node by its interfaces: an Ethernet interface that is up, is no port of a bridge or
 * similar, and has an address in whose network `ip` is; the longest prefix wins, then the lowest
 * index. `interface`: only the one of this name; NULL: any. `*ret_link` is borrowed from the facts,
 * NULL unless the node is eligible.
 */
enum placement_reason placement_on_link(const struct node_facts *facts, const struct ip *ip,
                                        const char *interface, const struct link **ret_link);

/* FAILBACK_NEVER: a holder keeps an address as long as it is eligible. */
enum { FAILBACK_NEVER = -1 };

/* One address, or several of a group. All borrowed. */
struct placement {
    const struct contenders *others; /* the other eligible nodes; NULL: none */
    bool may, lacks;                 /* this node is eligible; it lacks a port that others have */
    const char *key;                 /* the key of the hash: the address, or the group's name */
    const char *self;                /* this node */
    const char *holder;              /* the holder by the record; "": none */
    int64_t held_since_ms;           /* since when, if this node is the holder */
    int64_t failback_ms;
    /*
     * A node that did not take or keep it although it was eligible: no fail-back to it before then.
     * "": none.
     */
    const char *passed_over;
    int64_t passed_until_ms;
};

/*
 * Nodes that lack a port are ordered after all others; a holder that lacks a port hands the address
 * over after a short delay, if fail-back is enabled.
 */

/* The name of the first of the other nodes before this one; NULL: none. Borrowed. */
const char *placement_first(const struct placement *placement);

/*
 * The number of nodes before this one, without the current holder; 0 for a holder that keeps it;
 * LEASE_NO_RANK (plan/claims/lease_state.h) if this node is not eligible.
 */
int32_t placement_rank(const struct placement *placement, int64_t now_ms);

/* When the rank of a holder changes only by time; INT64_MAX: never. */
int64_t placement_next_ms(const struct placement *placement);
