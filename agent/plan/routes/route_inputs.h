/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the route planner depends on beside the facts about this node: which addresses NAT has
 * proved, which are held down, whether this node takes part, and the time. The daemon remembers
 * these from pass to pass; `agentctl plan` has none of them.
 */
#pragma once

#include "plan/facts.h"
#include "plan/routes/hold.h"

/* What NAT has proved of an address. Sorted by address. */
struct proof {
    struct ip address;
    bool proved;
};
int proof_cmp(const void *a, const void *b);

/* The same of one Service on one address. Sorted by address and Service. */
struct service_proof {
    struct ip address;
    char *service; /* "namespace/name"; "": an inherited proof */
    bool gone;     /* of a change: the Service is not there any more */
    bool as_planned, forwards;
    char *why; /* NULL: nothing is against */
};
int service_proof_cmp(const void *a, const void *b);

/* What an egress gateway has proved of an address that it translates to. */
struct gateway_proof {
    struct ip address;
    bool proved;
    bool withdrawn; /* the gateway is out of service: a drain is over */
    char why[160];  /* it is not proved */
};

/* Of each address that the configuration gives the gateway, in its order. */
struct gateway_proofs {
    uint32_t count;
    struct gateway_proof items[EGRESS_ADDRESSES_MAX];
};

/* How this node stands towards the network as a whole: the operator's word, or the cluster's. */
enum standing {
    STANDING_SERVING,
    STANDING_DRAINING,  /* service addresses are announced as draining (protocol 32) */
    STANDING_WITHDRAWN, /* no service address is announced; blocks are: their pods still run */
    STANDING_GONE,      /* the node was removed from the cluster: blocks are not announced either */
};

/* All borrowed. Of all of it only `node` must be given. */
struct route_inputs {
    const struct node_facts *node;
    const struct sorted *proofs;          /* struct proof; NULL: NAT is not ours to prove */
    const struct sorted *holds;           /* struct hold; NULL: none */
    const struct gateway_proofs *gateway; /* NULL: a gateway's addresses are not ours to prove */
    enum standing standing;
    int64_t now_ms; /* monotonic */
};

/* True if NAT serves the address as planned, or if NAT is not ours to prove. */
bool route_inputs_proved(const struct route_inputs *inputs, const struct ip *address);

/* The hold-down that keeps the address from being announced now, or NULL. */
const struct hold *route_inputs_held(const struct route_inputs *inputs, const struct ip *address);
