/* SPDX-License-Identifier: Apache-2.0 */
/* Judges one service's claim on one address. Internal to plan/. */
#pragma once

#include "base/fault.h"
#include "plan/routes.h"

/* One service naming one address in one of its fields. */
struct candidate {
    const struct service *service;
    const struct service_address *address;
    enum address_reason reason;
    uint32_t ports, forwarding;
};

/*
 * Whether a proxy serves this address for this service at all, by the service's own fields and the
 * configured ranges: a reason below REASON_PORTS_TAKEN, or REASON_ANNOUNCED if nothing is against.
 */
enum address_reason claim_served(const struct route_facts *facts, const struct service *service,
                                 const struct service_address *address);

/* Whether this node may announce it: REASON_OTHER_CLASS to NETWORK_UNAVAILABLE, or ANNOUNCED. */
enum address_reason claim_announceable(const struct route_facts *facts,
                                       const struct service *service,
                                       const struct service_address *address);

/* The usable endpoints of one service port in one family. */
struct port_endpoints {
    bool anywhere, local;
};

/*
 * Usable: ready, or, where none is ready, serving while terminating; judged separately for the
 * cluster and for this node, as kube-proxy does.
 */
struct port_endpoints claim_port_endpoints(const struct route_facts *facts,
                                           const struct service *service,
                                           const struct service_port *port, uint8_t family);
