/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses this cluster claims, and what this node has to do with each: the claims that it
 * may take part in, on which interface, and who else may.
 *
 * Claimed are LoadBalancer addresses of pools that an L2Advertisement selects, Services' external
 * and LoadBalancer addresses in addresses.claim, and those that addresses.own names. A claim is of
 * one address, or of several that stay together (addresses.group); a node that can't have all of
 * them has none.
 *
 * Of other nodes only their objects are known: which interfaces they have, each judges for itself.
 * One that has none leaves its turn to the next.
 *
 * Pure. plan/claims/placement.h makes an order of it, plan/claims/lease_state.h a right.
 */
#pragma once

#include "plan/claims/contenders.h"
#include "plan/claims/placement.h"
#include "plan/facts.h"
#include "plan/routes/route_inputs.h"

enum { HOLDING_KEY_MAX = 200 }; /* of a claim's name, with the NUL */

struct holding_address {
    struct ip ip;
    const struct service *service; /* the first that has it claimed; NULL: the node's own */
    enum placement_reason reason;  /* of this node */
    uint32_t ifindex;              /* 0: this node may not have it */
    uint8_t mac[6];
    char interface[16];
    bool there; /* the interface has it, and it is ours */
    /* Of a port of policy Local with endpoints on other nodes and none here; NULL: there is none */
    const struct service *lost_service;
    const struct service_port *lost_port;
};

struct holding {
    char key[HOLDING_KEY_MAX]; /* "address.192-0-2-1": the name of its record, a DNS name */
    VEC(struct holding_address) addresses; /* by ip_cmp() */
    struct contenders *others;             /* the other nodes that may, shared; no times */
    enum placement_reason reason;          /* of this node, for all of them */
    bool lacks;                            /* this node lacks a port of one of them */
};

/* By key. Services are borrowed from the store. */
typedef VEC(struct holding) holding_list;

void holding_list_done(holding_list *list);

/*
 * All claims, in order of their keys. Of the inputs `node`, `proofs` and `standing` count. Returns
 * 0 or -ENOMEM.
 */
int plan_holdings(const struct route_inputs *inputs, holding_list *ret_list);
