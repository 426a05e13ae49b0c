/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service NAT as a plan: which addresses and ports are served, and where a new flow may go.
 *
 * Pure, like routes.h. The unit of planning is one Service; a change of an object is turned into
 * the Services it touches, and only these are planned again. A row holds plain values in a defined
 * order, whatever order the objects came in.
 *
 * What is judged per packet is not in here: whether a source is in the source ranges (asked first,
 * of the original destination), whether it is a pod (by services.clusterCIDRs, before anything
 * else: a node's address inside them is a pod's), and hairpin (the chosen endpoint is the sender).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/ip.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "config/config.h"
#include "model/service.h"
#include "plan/routes.h"
#include "store/store.h"

/* Of several kinds on one address and port of one Service, the first counts. */
enum nat_kind {
    NAT_CLUSTER_IP,
    NAT_LOAD_BALANCER, /* before external IPs, so that its source ranges hold */
    NAT_EXTERNAL_IP,
    NAT_NODE_PORT,
};

enum nat_source {
    NAT_FROM_OUTSIDE,
    NAT_FROM_POD,
    NAT_FROM_NODE, /* this node itself */
    NAT_SOURCE_COUNT,
};

enum nat_verdict {
    NAT_FORWARD,
    NAT_REJECT, /* no usable endpoint anywhere */
    NAT_DROP,   /* only elsewhere, under policy Local: the sender may have better luck elsewhere */
};

enum nat_reason { NAT_REASON_NONE, NAT_NO_ENDPOINTS, NAT_NO_LOCAL_ENDPOINTS };

enum nat_set {
    NAT_CLUSTER_SET, /* ready and near enough by the hints; else all that serve while terminating */
    NAT_LOCAL_SET,   /* ready on this node; else those here that serve while terminating */
    NAT_SET_COUNT,
};

/* "clusterIP", "outside", "forward", "no-local-endpoints": stable words, part of the API. */
const char *nat_kind_name(enum nat_kind kind);
const char *nat_source_name(enum nat_source source);
const char *nat_verdict_name(enum nat_verdict verdict);
const char *nat_reason_name(enum nat_reason reason);

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
    nat_endpoint_list sets[NAT_SET_COUNT];
};

/* What happens to a new flow from one kind of source. */
struct nat_outcome {
    enum nat_verdict verdict;
    enum nat_reason reason;
    enum nat_set set; /* where a forwarded flow goes */
    bool masquerade;  /* its source becomes the node's address */
};

struct nat_frontend {
    struct ip address;
    enum protocol protocol;
    uint16_t port; /* as in the packet: a node port's own number */
    enum nat_kind kind;
    uint32_t port_index; /* of nat_family.ports */
    struct nat_outcome from[NAT_SOURCE_COUNT];
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
     * Sources that may use load balancer addresses, sorted; empty: all. `admits_itself`: a packet
     * whose source is the load balancer address it goes to may, too (a node's own packet).
     */
    VEC(struct prefix) source_ranges;
    bool admits_itself;
};

/* One Service that has frontends. An allocation of its own, with all that it points to. */
struct nat_row {
    char *namespace, *name;
    uint32_t affinity_seconds;       /* 0: none */
    uint16_t health_check_node_port; /* 0: none */
    uint32_t family_count;
    struct nat_family families[2]; /* IPv4 first */
};

void nat_row_free(struct nat_row *row);
int nat_row_cmp(const void *a, const void *b); /* of struct nat_row *const *: namespace, name */

/*
 * The row of a Service; `*ret_row` is NULL if it has no frontend. What is lost to other Services
 * on node ports, or open against its owner's intention, goes to `faults`; what is lost on other
 * addresses is plan_address()'s to tell. Of the facts only store and config are read. Returns 0 or
 * -ENOMEM.
 */
int plan_nat_service(const struct route_facts *facts, const struct service *service,
                     struct nat_row **ret_row, struct faults *faults);

/* The rows of all Services, from nothing: struct nat_row *, sorted. Returns 0 or -ENOMEM. */
int plan_nat(const struct route_facts *facts, struct sorted *ret_rows, struct faults *faults);
void nat_rows_done(struct sorted *rows);

/* A Service by name; borrowed from an object. */
struct nat_key {
    const char *namespace, *name;
};

typedef VEC(struct nat_key) nat_key_list;

/*
 * The Services whose rows a change of an object can alter, including ones that are gone or have
 * not come yet; `*ret_all` becomes true if it can be any (this node's own Node object). Appends to
 * `keys`, duplicates possible; valid until store_changes_done(). Returns 0 or -ENOMEM.
 */
int plan_nat_affected(const struct route_facts *facts, const struct change *change,
                      nat_key_list *keys, bool *ret_all);
