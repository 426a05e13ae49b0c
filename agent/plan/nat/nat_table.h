/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service NAT as plain values, for the planner, the maps and the views. Kinds, origins, acts,
 * causes and sets are defined in bpf/abi.h.
 *
 * A row has plain values in a defined order, independent of the order of the objects. Decisions per
 * packet are not in here: whether a source is in the source ranges (checked first, for the original
 * destination), whether it is a pod (by nat_settings.pod_nets, before anything else: a node's
 * address inside them is a pod's), and hairpin (the chosen endpoint is the sender).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "bpf/abi.h"

struct nat_endpoint {
    struct ip ip;
    uint16_t port;
};

int nat_endpoint_cmp(const void *a, const void *b);

typedef VEC(struct nat_endpoint) nat_endpoint_list; /* sorted, no duplicates */

/* One port of the Service in one family. */
struct nat_port {
    char *name; /* "" if it has none */
    enum protocol protocol;
    uint16_t port, node_port;
    nat_endpoint_list sets[NAT_SETS];
    /* All serving endpoints, in a set or not: UDP flows to them continue, those to others end. */
    nat_endpoint_list serving;
};

/* What happens to a new flow from one kind of source. */
struct nat_outcome {
    enum nat_act act; /* FORWARD, REJECT or DROP: only the program decides PASS */
    enum nat_cause cause;
    enum nat_set_kind set; /* of a forwarded flow's endpoint */
    bool masquerade;       /* its source becomes the node's address */
};

struct nat_frontend {
    struct ip address;
    enum protocol protocol;
    uint16_t port; /* as in the packet: a node port's own number */
    enum nat_frontend_kind kind;
    uint32_t port_index; /* of nat_family.ports */
    struct nat_outcome from[NAT_ORIGINS];
};

/* Order by address, protocol, port: no two frontends of the node have the same. */
int nat_frontend_cmp(const void *a, const void *b);

/* One family of a Service. */
struct nat_family {
    uint8_t family;                     /* enum ip_family */
    uint32_t local_ready;               /* addresses that the health port counts */
    VEC(struct nat_port) ports;         /* as in the Service */
    VEC(struct nat_frontend) frontends; /* sorted */
    /*
     * The ClusterIPs that are this Service's, sorted: no older Service has them. Other ports on
     * them are refused, whether or not one of the frontends above uses the address.
     */
    ip_list cluster_ips;
    /* Sources that may use the Service's load balancer addresses, sorted; empty: all. */
    VEC(struct prefix) source_ranges;
};

/*
 * One Service that has frontends or ClusterIPs, or that another proxy serves: in the latter case it
 * has no family. `foreign` has the ClusterIPs whose packets are not translated: all of another
 * proxy's, and those that this node itself has. One allocation, with all that it points to.
 */
struct nat_row {
    char *namespace, *name;
    uint32_t affinity_seconds;       /* 0: none */
    uint16_t health_check_node_port; /* 0: none */
    uint32_t family_count;
    struct nat_family families[2]; /* IPv4 first */
    ip_list foreign;               /* sorted; as in cluster_ips no older Service has them */
};

/* Frees what the family points to; it is empty afterwards. */
void nat_family_done(struct nat_family *family);

void nat_row_free(struct nat_row *row);
DEFINE_CLEANUP(struct nat_row *, nat_row_free);
int nat_row_cmp(const void *a, const void *b); /* of struct nat_row *const *: namespace, name */

/*
 * Settings for all Services; part of the control map. Lists are sorted and disjoint. In a family
 * without a pod network, a sender behind a pod's interface is a pod.
 */
struct nat_settings {
    const struct prefix *pod_nets, *service_nets;
    size_t pod_net_count, service_net_count;
    uint16_t snat_first, snat_last;
    uint32_t timeouts_s[NAT_STATES];                       /* idle timeouts of flows */
    uint32_t egress_timeouts_s[NAT_STATES], egress_icmp_s; /* of an egress gateway's flows */
    const struct ip *peers; /* the other Nodes' first InternalIPs, IPv4 first */
    size_t peer_count;
    const struct prefix *own_blocks; /* this node's AddressBlocks: their pods are behind veths */
    size_t own_block_count;
};

/* A program on an interface: attached, or to be attached. */
struct nat_attachment {
    uint32_t ifindex;
    uint32_t vrf; /* whose routes apply to incoming packets; 0: the node's */
    char name[16];
    enum nat_hook hook; /* has the direction, too */
    bool bare;          /* packets there have no Ethernet header */
    bool by_route;      /* ... and it takes its remote end from each packet's route */
    bool parent;        /* it may have macvlan or ipvlan children in pods */
};

int nat_attachment_cmp(const void *a, const void *b); /* ifindex, hook */
/* Whether an interface has a program that translates incoming replies. `list`: sorted. */
bool nat_sees_replies(const struct nat_attachment *list, size_t count, uint32_t ifindex);
/* Whether an interface with programs may be the parent of pods' interfaces. `list`: sorted. */
bool nat_may_be_parent(const struct nat_attachment *list, size_t count, uint32_t ifindex);

typedef VEC(struct nat_attachment) nat_attachment_list; /* sorted */
