/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses this cluster claims, and this node's part in each: the claims that it is eligible
 * for, the interface, and the other eligible nodes.
 *
 * Claimed are LoadBalancer addresses of pools that an L2Advertisement selects, Services' external
 * and LoadBalancer addresses in addresses.claim, and those that addresses.own names. A claim is of
 * one address, or of several that stay together (addresses.group); a node that can't have all of
 * them gets none.
 *
 * Of other nodes only their objects are known: each node checks its own interfaces. A node without
 * a suitable interface leaves the address to the next.
 *
 * Pure. plan/claims/placement.h orders the nodes, plan/claims/lease_state.h acquires the lease.
 */
#pragma once

#include "plan/claims/contenders.h"
#include "plan/claims/placement.h"
#include "plan/facts.h"
#include "plan/routes/route_inputs.h"

enum { HOLDING_KEY_MAX = 200 }; /* of a claim's name, with the NUL */

struct holding_address {
    struct ip ip;
    const struct service *service; /* the first that claims it; NULL: the node's own */
    enum placement_reason reason;  /* of this node */
    uint32_t ifindex;              /* 0: this node may not have it */
    uint8_t mac[6];
    char interface[16];
    bool there; /* the interface has it, added by us */
    /* The Service of a port of policy Local with endpoints only on other nodes; NULL: none */
    const struct service *lost_service;
    const struct service_port *lost_port;
};

struct holding {
    char key[HOLDING_KEY_MAX]; /* "address.192-0-2-1": the name of its Lease, a DNS name */
    VEC(struct holding_address) addresses; /* by ip_cmp() */
    struct contenders *others;             /* the other eligible nodes, shared; no times */
    enum placement_reason reason;          /* of this node, for all of them */
    bool lacks;                            /* this node lacks a port of one of them */
};

/* By key. Services are borrowed from the store. */
typedef VEC(struct holding) holding_list;

void holding_list_done(holding_list *list);

/*
 * All claims, in order of their keys. Of the inputs it reads `node`, `proofs` and `standing`.
 * Returns 0 or -ENOMEM.
 */
int plan_holdings(const struct route_inputs *inputs, holding_list *ret_list);
