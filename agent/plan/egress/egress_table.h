/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Egress as plain values: what the planner wants, the maps hold, the views print.
 *
 * A client is a pod address whose packets leave the cluster by gateways, a gateway a host or pod
 * that sends them on under an address of its own. A set has the gateways of one Egress in one
 * family. A policy says which destinations go to which Egress; pods that ask for the same share
 * one. What stays in the cluster is the same for all: the stays.
 *
 * An Egress is named "NAMESPACE/NAME"; several are a list with commas, in order of namespace and
 * name. A row is an allocation of its own, with all that it points to.
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
    /* The planner doesn't know the rest: probes and the kernel's routes say it. */
    EGRESS_DOUBTED,   /* does not answer just now: as draining */
    EGRESS_SILENT,    /* does not answer for longer: its flows begin anew elsewhere */
    EGRESS_WITHDRAWN, /* says that its drain is over: the same */
    EGRESS_AWAY,      /* no route leads there: the same */
    EGRESS_STALE,     /* says that it learns of no new clients: those go elsewhere */
    EGRESS_GATEWAY_STATES,
};

/* "active", "draining", ...: part of the API. */
const char *egress_gateway_state_name(enum egress_gateway_state state);
/* Whether flows that began with a gateway stay with it. */
bool egress_gateway_keeps_flows(enum egress_gateway_state state);

struct egress_gateway {
    struct ip address; /* to which tunnels go */
    enum egress_gateway_state state;
    bool answers; /* it has answered probes; */
    bool peer;    /* a pod of this node, at the end of a veth: the planner knows neither */
    char *node;   /* the Node that it is, or on which its pod runs; "": not known */
};

int egress_gateway_cmp(const void *a, const void *b); /* address, then the better state */

/* The gateways of one Egress in one family; none, if its packets can only be dropped. */
struct egress_set {
    char *egress;
    uint8_t family;        /* enum ip_family */
    bool by_client;        /* all flows of a client leave by one gateway; else each flow chooses */
    bool source_port_auto; /* the outer source port follows the flow; else it is the tunnel's */
    VEC(struct egress_gateway) gateways; /* sorted by address, no duplicates */
};

/* A policy is known by its content: pods with equal keys have the same. */
struct egress_policy_key {
    uint8_t family;
    /*
     * An Egress that was asked for does not exist (yet): until it does, packets are dropped that no
     * stay is for, those to destinations of the policy among them.
     */
    bool waiting;
    char *egresses; /* those that exist and have destinations of the family; "": none */
};

struct egress_entry {
    struct prefix destination;
    char *egress;
};

struct egress_policy {
    struct egress_policy_key key;
    VEC(struct egress_entry) entries; /* sorted by destination, no duplicates */
    uint32_t pods;                    /* rows of the plan that have it */
};

/* An address of a pod of this node. */
struct egress_pod {
    struct ip address;
    char *namespace, *name; /* the pod's */
    bool is_client;         /* else packets leave as they are; the row says that it is known */
    struct egress_policy_key policy;
};

/* On a gateway: an address of a pod, wherever it runs, that may send through it. */
struct egress_client {
    struct ip address;
    char *namespace, *name; /* the pod's */
    char *egresses;         /* of those that are served here */
};

/* The key of the policy that a gateway has for a client; borrowed. */
struct egress_policy_key egress_client_policy(const struct egress_client *client);

/* In the order in which the tables are sorted; of struct egress_X *const *. */
int egress_set_cmp(const void *a, const void *b);    /* egress, family */
int egress_policy_cmp(const void *a, const void *b); /* family, egresses, waiting */
int egress_pod_cmp(const void *a, const void *b);    /* address */
int egress_client_cmp(const void *a, const void *b); /* address */
int egress_policy_key_cmp(const struct egress_policy_key *a, const struct egress_policy_key *b);

/* Whether two rows of one key say the same. */
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

/* The bridge behind an interface: that it is a port of, or in one of whose VLANs it is. */
struct egress_port {
    uint32_t ifindex, bridge;
};
int egress_port_cmp(const void *a, const void *b); /* by ifindex */
