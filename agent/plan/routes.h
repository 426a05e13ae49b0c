/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses and blocks this node announces, which it guards, and why.
 *
 * Pure: no system call, clock, log or global. The unit of planning is one address or one block;
 * a change of an object is turned into the units it touches, and only these are planned again.
 * Every address that some service names gets a row with a reason, announced or not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/ip.h"
#include "base/sorted.h"
#include "config/config.h"
#include "model/address_block.h"
#include "model/service.h"
#include "plan/facts.h"
#include "plan/route_table.h"
#include "store/store.h"

/*
 * Why an address is announced, or not. In the order in which a claim is judged: where several
 * services carry an address, the row's reason is that of the claim that came furthest.
 */
enum address_reason {
    REASON_WRONG_TYPE,          /* the service's type has no such address (any more) */
    REASON_HEADLESS,            /* no clusterIP (of the family): no proxy serves its addresses */
    REASON_OTHER_PROXY,         /* service-proxy-name or headless label: another proxy's */
    REASON_SPECIAL,             /* loopback, link-local, multicast, unspecified */
    REASON_PROXY_MODE,          /* ipMode Proxy */
    REASON_OUTSIDE_RANGES,      /* not in services.externalIPs or loadBalancerIPs */
    REASON_IN_SERVICE_CIDR,     /* an external IP that is a ClusterIP or in serviceCIDRs */
    REASON_PORTS_TAKEN,         /* each of its ports belongs to an older service here */
    REASON_OTHER_CLASS,         /* loadBalancerClass is not ours */
    REASON_NOT_ADVERTISED,      /* services.advertise leaves this kind of address out */
    REASON_OPTED_OUT,           /* annotation fingerpost.io/announce: "false" */
    REASON_NODE_GONE,           /* this node's Node object was deleted */
    REASON_WITHDRAWN,           /* by the operator: withdraw, or the end of drain */
    REASON_NODE_EXCLUDED,       /* label exclude-from-external-load-balancers */
    REASON_NETWORK_UNAVAILABLE, /* the node's condition */
    REASON_NO_ENDPOINTS,        /* none usable anywhere */
    REASON_NO_LOCAL_ENDPOINTS,  /* policy Local, and usable ones only elsewhere */
    REASON_NOT_PROVED,          /* NAT has not proved every frontend */
    REASON_HELD_DOWN,           /* withdrawn a moment ago */
    REASON_ANNOUNCED,
    REASON_COUNT,
};

/* "no-local-endpoints": stable words, part of the API. */
const char *address_reason_name(enum address_reason reason);
/* A sentence for people: "no usable endpoint on this node (policy Local)". */
const char *address_reason_text(enum address_reason reason);

/* One service's hold on an address. */
struct claim {
    const char *namespace, *name;
    enum address_origin origin;
    enum address_reason reason;
    uint32_t ports, forwarding; /* frontends on the address; those with a usable endpoint */
};

/* Where packets to an address or network are led while NAT is on; with NAT off, nowhere. */
struct lead {
    uint32_t ifindex; /* svc0's; 0: they are not led */
    struct ip source; /* of the node's own packets; IP_NONE: the kernel chooses */
};

/* One address. An allocation of its own, claims and strings included. */
struct address_row {
    struct ip address;
    enum address_reason reason;
    uint8_t protocol;      /* in the export table, if announced */
    bool guarded;          /* this node may announce it: unmapped ports must not loop */
    bool usable;           /* would be announced but for hold-down */
    struct lead lead;      /* NAT serves it: guarded, or for the node's own packets alone */
    bool foreign;          /* another proxy's, in a network that is led to svc0: it is not */
    int64_t held_until_ms; /* monotonic; 0: not held */
    uint32_t claim_count;
    struct claim claims[]; /* in order of precedence */
};

void address_row_free(struct address_row *row);

/* A block of this node, one family of it. */
struct block_row {
    struct prefix prefix;
    char block[254], pool[254];
    bool reserved;
};

int block_row_cmp(const void *a, const void *b); /* prefix, then block */

/* A network of ClusterIPs that is led to svc0 as a whole. */
struct net_row {
    struct prefix prefix;
    struct lead lead;
};

/* What NAT has proved of an address. Sorted by address. */
struct proof {
    struct ip address;
    bool proved;
};
int proof_cmp(const void *a, const void *b);

/*
 * Hold-down of one address: withdrawn at once, announced again only later. It exists
 * from the first withdrawal until the address has been quiet for routes.holdDown.max.
 */
struct hold {
    struct ip address;
    int64_t announced_ms; /* since when it is announced again; 0: it is not */
    int64_t until_ms;     /* not announced before */
    int64_t delay_ms;     /* of the last withdrawal; doubles, up to routes.holdDown.max */
};
int hold_cmp(const void *a, const void *b);

/* How this node stands towards the network as a whole: the operator's word, or the cluster's. */
enum standing {
    STANDING_SERVING,
    STANDING_DRAINING,  /* service addresses are announced as draining (protocol 32) */
    STANDING_WITHDRAWN, /* no service address is announced; blocks are: their pods still run */
    STANDING_GONE,      /* the node was removed from the cluster: blocks are not announced either */
};

/*
 * What a route plan depends on beside the facts about this node: what the daemon remembers and was
 * told. All borrowed. Of all of it only `node` must be given.
 */
struct route_inputs {
    const struct node_facts *node;
    const struct sorted *proofs; /* struct proof; NULL: NAT is not ours to prove */
    const struct sorted *holds;  /* struct hold; NULL: none */
    enum standing standing;
    int64_t now_ms; /* monotonic */
};

/* The plan: sorted tables of rows. Owned by whoever calls plan_routes(). */
struct route_plan {
    struct sorted addresses; /* struct address_row * */
    struct sorted blocks;    /* struct block_row */
    struct sorted nets;      /* struct net_row */
    size_t foreign;          /* addresses of which the row says so */
    /*
     * What is led to svc0 stands in the guard table behind our rule, not in main: because there
     * are other rules already, which might pass main by, or addresses that are left out (foreign).
     * plan_lead() decides.
     */
    bool led_by_rule;
};

void route_plan_init(struct route_plan *plan);
void route_plan_done(struct route_plan *plan);

/*
 * The row of one address; `*ret_row` is NULL if no service names it. Faults (two services claim
 * one port, ...) go to `faults`. Returns 0 or -ENOMEM.
 */
int plan_address(const struct route_inputs *inputs, const struct ip *address,
                 struct address_row **ret_row, struct faults *faults);

/* The rows (0 to 2) of a block object; NULL gives 0. Returns their number. */
int plan_block(const struct route_inputs *inputs, const struct address_block *block,
               struct block_row ret_rows[static 2]);

/* The rows of all blocks of this node, from nothing. Returns 0 or -ENOMEM. */
int plan_blocks(const struct route_inputs *inputs, struct sorted *ret_rows);

/*
 * The rows of services.serviceCIDRs, none while NAT is off. One that overlaps a network of this
 * node is a fault: it would lead the node's neighbours away. Returns 0 or -ENOMEM.
 */
int plan_nets(const struct node_facts *facts, struct sorted *ret_rows, struct faults *faults);

/*
 * Where what is led to svc0 stands, for route_plan.led_by_rule: true if in the guard table. Of the
 * plan `foreign` is read. When the answer changes, every route that leads to svc0 changes too.
 */
bool plan_lead(const struct node_facts *facts, const struct route_plan *plan);

/* The whole plan from nothing. Returns 0 or -ENOMEM. */
int plan_routes(const struct route_inputs *inputs, struct route_plan *ret_plan,
                struct faults *faults);

/*
 * The addresses whose rows a change of an object can alter; `ret_all` becomes true if it can be
 * any (this node's own Node object). Appends to `addresses`, duplicates possible.
 */
int plan_affected_addresses(const struct node_facts *facts, const struct change *change,
                            ip_list *addresses, bool *ret_all);

/* True if the change is one of a block that is, or was, this node's. */
bool plan_affected_blocks(const struct node_facts *facts, const struct change *change);

/* The routes a row asks for, in order of route_cmp(); at most two. Return their number. */
int address_routes(const struct config *config, const struct route_plan *plan,
                   const struct address_row *row, struct route ret_routes[static 2]);
int block_routes(const struct config *config, const struct block_row *row,
                 struct route ret_routes[static 2]);

/* The route of a network. */
struct route net_route(const struct route_plan *plan, const struct net_row *row);

/* The route that the plan wants in a slot (table, prefix, metric), if any. */
bool plan_wanted_route(const struct config *config, const struct route_plan *plan,
                       const struct route *slot, struct route *ret_route);

typedef VEC(struct route) route_list;
typedef VEC(struct rule) rule_list;

/* All routes, sorted by route_cmp(), and all rules of a plan. Return 0 or -ENOMEM. */
int plan_route_list(const struct config *config, const struct route_plan *plan,
                    route_list *ret_routes);
int plan_rule_list(const struct route_plan *plan, rule_list *ret_rules);

/* The state after a withdrawal, and after the address is announced again. */
void hold_withdraw(struct hold *hold, const struct config *config, int64_t now_ms);
void hold_announce(struct hold *hold, int64_t now_ms);
/* True if the state is as good as none, so that it can be forgotten. */
bool hold_is_idle(const struct hold *hold, const struct config *config, int64_t now_ms);
