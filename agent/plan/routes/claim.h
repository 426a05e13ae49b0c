/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the claims of Services on one address. Internal to plan/. */
#pragma once

#include "plan/routes/address_reason.h"
#include "plan/routes/real_address.h"
#include "plan/routes/route_inputs.h"

/* One service naming one address in one of its fields. */
struct candidate {
    const struct service *service;
    const struct service_address *address;
    enum address_reason reason;
    uint32_t ports, forwarding;
};

typedef VEC(struct candidate) candidate_list;

/*
 * All services that name the address, in order of precedence, each with whether a proxy serves it
 * there: a reason below REASON_PORTS_TAKEN, or REASON_ANNOUNCED if all checks pass. The list is the
 * caller's (AUTOVEC), after -ENOMEM too.
 */
int claim_candidates(const struct node_facts *facts, const struct ip *ip, candidate_list *list);

/*
 * The same for NAT: without a ClusterIP of the address's family a Service is not served in that
 * family (REASON_HEADLESS), and claims nothing.
 */
int claim_nat_candidates(const struct node_facts *facts, const struct ip *ip, candidate_list *list);

bool claim_has_cluster_ip(const struct service *service, uint8_t family);

/*
 * The oldest Service that has an address as its ClusterIP, whichever proxy serves it; NULL: none.
 * External addresses and single ports of other Services do not count.
 */
const struct service *claim_cluster_ip_owner(const struct node_facts *facts, const struct ip *ip);

/*
 * The first service before `until` that is served here and has the port, or NULL. `until` itself is
 * left out, since a Service never takes a port from itself. NULL for `until`: checks all.
 */
const struct service *claim_port_owner(const candidate_list *list, const struct candidate *until,
                                       enum protocol protocol, uint16_t port);

/*
 * Whether a proxy serves the Service: REASON_WRONG_TYPE (type ExternalName), REASON_HEADLESS,
 * REASON_OTHER_PROXY, or REASON_ANNOUNCED if all checks pass.
 */
enum address_reason claim_service(const struct config *config, const struct service *service);

/*
 * Whether a proxy serves this address for this Service, by the Service's own fields and the
 * configured ranges: a reason below REASON_PORTS_TAKEN, or REASON_ANNOUNCED if all checks pass.
 */
enum address_reason claim_served(const struct node_facts *facts, const struct service *service,
                                 const struct service_address *address);

/* Whether its loadBalancerClass is ours; also for Services without a class. */
bool claim_is_our_class(const struct config *config, const struct service *service);

bool claim_in_ranges(const prefix_list *ranges, const struct ip *ip);

/*
 * Whether this node may announce it: REASON_OTHER_CLASS to NETWORK_UNAVAILABLE, or ANNOUNCED.
 * `real`: its owner other than a Service; NULL: none.
 */
enum address_reason claim_announceable(const struct route_inputs *inputs,
                                       const struct candidate *candidate,
                                       const struct real_address *real);

/*
 * Whether an address of a Service is one that a single node of a segment has at a time
 * (holdings.h), by the configuration and L2Advertisements; ports are not checked.
 */
bool claim_on_segment(const struct node_facts *facts, const struct service *service,
                      const struct service_address *address);

/* The usable endpoints of one service port in one family. */
struct port_endpoints {
    bool anywhere, local;
};

/*
 * Usable: ready, or, where none is ready, serving while terminating; determined separately for the
 * cluster and for this node, as kube-proxy does. Returns 0 or -ENOMEM.
 */
int claim_port_endpoints(const struct node_facts *facts, const struct service *service,
                         const struct service_port *port, uint8_t family,
                         struct port_endpoints *ret_usable);
