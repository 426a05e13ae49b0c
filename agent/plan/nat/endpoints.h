/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints of a service port that are good for anything. Internal to plan/. */
#pragma once

#include "base/fault.h"
#include "model/services/endpoint_slice.h"
#include "plan/facts.h"

/* An endpoint that is ready or serves. */
struct backend {
    const struct endpoint *endpoint;
    uint16_t port;
    bool local; /* it runs on this node */
};

/* Whether new flows may go there: it is ready, or it serves while it terminates. */
static inline bool endpoint_is_usable(const struct endpoint *endpoint)
{
    return endpoint->ready || (endpoint->serving && endpoint->terminating);
}

/* Adds a fault for each slice of the service with endpoints in services.serviceCIDRs: these count
 * for nothing. */
void endpoints_faults(const struct node_facts *facts, const struct service *service,
                      struct faults *faults);

/* Called for each; anything but 0 ends the walk and is its result. */
typedef int (*backend_fn)(void *context, const struct backend *backend);

/*
 * The endpoints of a service port; of copies of one, all that can do as much as the best of them.
 * Returns what `each` does, or -ENOMEM.
 */
int endpoints_each(const struct node_facts *facts, const struct service *service,
                   const struct service_port *port, uint8_t family, backend_fn each, void *context);

/* Every endpoint of the service that has any port at all; `port` is then 0. Copies stay apart. */
int endpoints_each_of_any(const struct node_facts *facts, const struct service *service,
                          uint8_t family, backend_fn each, void *context);
