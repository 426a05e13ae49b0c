/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints that a service port may send anyone to. Internal to plan/. */
#pragma once

#include "model/endpoint_slice.h"
#include "plan/routes.h"

/* A usable endpoint: ready, or serving while it terminates. Copies of one endpoint stay apart. */
struct usable {
    const struct endpoint *endpoint;
    uint16_t port;
    bool local; /* it runs on this node */
};

/* Called for each; anything but 0 ends the walk and is its result. */
typedef int (*usable_fn)(void *context, const struct usable *usable);

int endpoints_each(const struct route_facts *facts, const struct service *service,
                   const struct service_port *port, uint8_t family, usable_fn each, void *context);

/* The same for every endpoint of the service that has any port at all; `port` is then 0. */
int endpoints_each_of_any(const struct route_facts *facts, const struct service *service,
                          uint8_t family, usable_fn each, void *context);
