/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the services' claims on one address. Internal to plan/. */
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
 * there at all: a reason below REASON_PORTS_TAKEN, or REASON_ANNOUNCED if nothing is against.
 * The list is the caller's (AUTOVEC), after -ENOMEM too.
 */
int claim_candidates(const struct node_facts *facts, const struct ip *ip, candidate_list *list);

/*
 * The same as NAT has it: without a ClusterIP of the address's family a service is served nowhere
 * in that family (REASON_HEADLESS), and takes nothing from others.
 */
int claim_nat_candidates(const struct node_facts *facts, const struct ip *ip, candidate_list *list);

bool claim_has_cluster_ip(const struct service *service, uint8_t family);

/*
 * Whose ClusterIP an address is as a whole, by age, whichever proxy serves it; NULL: nobody's. What
 * other services have there, external addresses or single ports, does not count.
 */
const struct service *claim_cluster_ip_owner(const struct node_facts *facts, const struct ip *ip);

/*
 * The first service before `until` that is served here and has the port, or NULL. A service never
 * takes a port from itself: `until`'s own is left out. NULL for `until` asks them all.
 */
const struct service *claim_port_owner(const candidate_list *list, const struct candidate *until,
                                       enum protocol protocol, uint16_t port);

/*
 * Whether a proxy serves anything of the service: REASON_WRONG_TYPE (it is another name only),
 * REASON_HEADLESS, REASON_OTHER_PROXY, or REASON_ANNOUNCED if nothing is against.
 */
enum address_reason claim_service(const struct config *config, const struct service *service);

/*
 * Whether a proxy serves this address for this service at all, by the service's own fields and the
 * configured ranges: a reason below REASON_PORTS_TAKEN, or REASON_ANNOUNCED if nothing is against.
 */
enum address_reason claim_served(const struct node_facts *facts, const struct service *service,
                                 const struct service_address *address);

/* Whether its loadBalancerClass is ours, that of Services that name none included. */
bool claim_is_our_class(const struct config *config, const struct service *service);

bool claim_in_ranges(const prefix_list *ranges, const struct ip *ip);

/*
 * Whether this node may announce it: REASON_OTHER_CLASS to NETWORK_UNAVAILABLE, or ANNOUNCED.
 * `real`: whose it is apart from services; NULL: nobody's.
 */
enum address_reason claim_announceable(const struct route_inputs *inputs,
                                       const struct candidate *candidate,
                                       const struct real_address *real);

/*
 * Whether an address of a Service is one that a single node of a segment has at a time
 * (holdings.h), by the configuration and L2Advertisements; not what its ports are.
 */
bool claim_on_segment(const struct node_facts *facts, const struct service *service,
                      const struct service_address *address);

/* The usable endpoints of one service port in one family. */
struct port_endpoints {
    bool anywhere, local;
};

/*
 * Usable: ready, or, where none is ready, serving while terminating; judged separately for the
 * cluster and for this node, as kube-proxy does. Returns 0 or -ENOMEM.
 */
int claim_port_endpoints(const struct node_facts *facts, const struct service *service,
                         const struct service_port *port, uint8_t family,
                         struct port_endpoints *ret_usable);
