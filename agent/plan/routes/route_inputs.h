/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the route planner depends on beside the facts about this node: which addresses NAT has
 * proved, which are held down, whether this node serves, and the time. The daemon keeps these
 * across passes; `agentctl plan` has none of them.
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
    bool gone;     /* of a change: the Service was deleted */
    bool as_planned, forwards;
    char *why; /* NULL: it is proved */
};
int service_proof_cmp(const void *a, const void *b);

/* What an egress gateway has proved of an address that it translates to. */
struct gateway_proof {
    struct ip address;
    bool proved;
    bool withdrawn; /* the gateway is out of service: a drain has ended */
    char why[160];  /* why it is not proved */
};

/* One for each address that the configuration assigns to the gateway, in its order. */
struct gateway_proofs {
    uint32_t count;
    struct gateway_proof items[EGRESS_ADDRESSES_MAX];
};

/* Whether this node as a whole serves, as set by the operator or by the cluster. */
enum standing {
    STANDING_SERVING,
    STANDING_DRAINING,  /* service addresses are announced as draining (protocol 32) */
    STANDING_WITHDRAWN, /* no service address is announced; blocks are: their pods still run */
    STANDING_GONE,      /* the node was removed from the cluster: nor are blocks announced */
};

/* All borrowed. Only `node` is required. */
struct route_inputs {
    const struct node_facts *node;
    const struct sorted *proofs;          /* struct proof; NULL: NAT is not ours to prove */
    const struct sorted *holds;           /* struct hold; NULL: none */
    const struct gateway_proofs *gateway; /* NULL: no gateway, nothing is to be proved */
    enum standing standing;
    int64_t now_ms; /* monotonic */
};

/* True if NAT serves the address as planned, or if this agent does no NAT. */
bool route_inputs_proved(const struct route_inputs *inputs, const struct ip *address);

/* The hold-down that keeps the address from being announced now, or NULL. */
const struct hold *route_inputs_held(const struct route_inputs *inputs, const struct ip *address);
