/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Egress as plain values, for the planner, the maps and the views.
 *
 * A client is a pod address whose packets leave the cluster by gateways, a gateway is a host or pod
 * that forwards them under its own address. A set has the gateways of one Egress in one family. A
 * policy maps destinations to Egresses; pods with the same request share one. The excluded networks
 * ("stays") are the same for all clients.
 *
 * An Egress is named "NAMESPACE/NAME"; several are a list with commas, in order of namespace and
 * name. A row is one allocation, with all that it points to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/net/ip.h"
#include "base/sorted.h"
#include "base/vec.h"

enum { EGRESS_GATEWAYS_MAX = 64 };

enum egress_gateway_state {
    EGRESS_ACTIVE,
    EGRESS_DRAINING, /* keeps its flows, gets no new ones */
    /*
     * The planner does not set the following states: they come from probes and the kernel's routes.
     */
    EGRESS_DOUBTED,   /* left some probes unanswered: as draining */
    EGRESS_SILENT,    /* unanswered for longer: its flows start again elsewhere */
    EGRESS_WITHDRAWN, /* reports that its drain has ended: the same */
    EGRESS_AWAY,      /* no route leads there: the same */
    EGRESS_STALE,     /* reports that it learns no new clients: those use other gateways */
    EGRESS_GATEWAY_STATES,
};

/* "active", "draining", ...: part of the API. */
const char *egress_gateway_state_name(enum egress_gateway_state state);
/* Whether existing flows of a gateway stay with it. */
bool egress_gateway_keeps_flows(enum egress_gateway_state state);

struct egress_gateway {
    struct ip address; /* destination of FoU packets */
    enum egress_gateway_state state;
    bool answers; /* it has answered probes; */
    bool peer;    /* a pod of this node, at the end of a veth; the planner sets neither */
    char *node;   /* the Node itself, or of its pod; "": unknown */
};

int egress_gateway_cmp(const void *a, const void *b); /* address, then the better state */

/* The gateways of one Egress in one family; without gateways its packets are dropped. */
struct egress_set {
    char *egress;
    uint8_t family; /* enum ip_family */
    bool by_client; /* all flows of a client use one gateway; false: one is selected per flow */
    bool source_port_auto; /* FoU's source port depends on the flow; false: it is the FoU port */
    VEC(struct egress_gateway) gateways; /* sorted by address, no duplicates */
};

/* A policy is identified by its content: pods with equal keys share it. */
struct egress_policy_key {
    uint8_t family;
    /*
     * A requested Egress does not exist (yet): until it does, all packets outside the excluded
     * networks are dropped, also those to destinations of the policy.
     */
    bool waiting;
    char *egresses; /* the existing ones with destinations of the family; "": none */
};

struct egress_entry {
    struct prefix destination;
    char *egress;
};

struct egress_policy {
    struct egress_policy_key key;
    VEC(struct egress_entry) entries; /* sorted by destination, no duplicates */
    uint32_t pods;                    /* rows of the plan that use it */
};

/* An address of a pod of this node. */
struct egress_pod {
    struct ip address;
    char *namespace, *name; /* the pod's */
    bool is_client;         /* false: packets leave unchanged; the row marks the pod as known */
    struct egress_policy_key policy;
};

/* On a gateway: an address of a pod on any node that may send through it. */
struct egress_client {
    struct ip address;
    char *namespace, *name; /* the pod's */
    char *egresses;         /* of the Egresses served here */
};

/* The key of the policy that a gateway has for a client; borrowed. */
struct egress_policy_key egress_client_policy(const struct egress_client *client);

/* The orders of the tables; of struct egress_X *const *. */
int egress_set_cmp(const void *a, const void *b);    /* egress, family */
int egress_policy_cmp(const void *a, const void *b); /* family, egresses, waiting */
int egress_pod_cmp(const void *a, const void *b);    /* address */
int egress_client_cmp(const void *a, const void *b); /* address */
int egress_policy_key_cmp(const struct egress_policy_key *a, const struct egress_policy_key *b);

/* Whether two rows of the same key are equal. */
bool egress_set_equal(const struct egress_set *a, const struct egress_set *b);
bool egress_policy_equal(const struct egress_policy *a, const struct egress_policy *b);
bool egress_pod_equal(const struct egress_pod *a, const struct egress_pod *b);
bool egress_client_equal(const struct egress_client *a, const struct egress_client *b);

void egress_set_free(struct egress_set *set);
void egress_policy_free(struct egress_policy *policy);
void egress_pod_free(struct egress_pod *pod);
void egress_client_free(struct egress_client *client);
DEFINE_CLEANUP(struct egress_set *, egress_set_free);
DEFINE_CLEANUP(struct egress_policy *, egress_policy_free);
DEFINE_CLEANUP(struct egress_pod *, egress_pod_free);
DEFINE_CLEANUP(struct egress_client *, egress_client_free);

/* The bridge of an interface: of which it is a port, or in one of whose VLANs it is. */
struct egress_port {
    uint32_t ifindex, bridge;
};
int egress_port_cmp(const void *a, const void *b); /* by ifindex */
