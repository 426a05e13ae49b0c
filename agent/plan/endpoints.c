// SPDX-License-Identifier: Apache-2.0
/*
 * From a service's slices to its usable endpoints: which slices count, which of their ports is
 * meant, who is usable, who is local. What the planners make of them is theirs: routes.c asks
 * whether there are any, nat_sets.c chooses among them.
 *
 * A service port finds its number by name and protocol in each slice, so that endpoints of
 * different versions may listen on different ports. A slice that no port is left of (no number)
 * says nothing.
 */
#include "plan/endpoints.h"

#include <string.h>

static bool slice_counts(const struct endpoint_slice *slice, uint8_t family)
{
    return !slice->headless_label && slice->family == family;
}

static bool is_usable(const struct endpoint *endpoint)
{
    return endpoint->ready || (endpoint->serving && endpoint->terminating);
}

static int each_of_slice(const struct route_facts *facts, const struct endpoint_slice *slice,
                         uint16_t port, usable_fn each, void *context)
{
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < slice->endpoint_count; i++) {
        const struct usable usable = {
            .endpoint = &slice->endpoints[i],
            .port = port,
            .local = strcmp(slice->endpoints[i].node_name, facts->config->node) == 0,
        };
        if (is_usable(usable.endpoint))
            r = each(context, &usable);
    }
    return r;
}

int endpoints_each(const struct route_facts *facts, const struct service *service,
                   const struct service_port *port, uint8_t family, usable_fn each, void *context)
{
    size_t count;
    const struct endpoint_slice *const *slices =
        store_slices_of(facts->store, service->object.namespace, service->object.name, &count);
    int r = 0;

    for (size_t i = 0; i < count; i++) {
        for (uint32_t j = 0; slice_counts(slices[i], family) && j < slices[i]->port_count; j++) {
            const struct slice_port *found = &slices[i]->ports[j];
            if (r == 0 && found->port && found->protocol == port->protocol &&
                strcmp(found->name, port->name) == 0)
                r = each_of_slice(facts, slices[i], found->port, each, context);
        }
    }
    return r;
}

static bool has_any_port(const struct endpoint_slice *slice)
{
    for (uint32_t i = 0; i < slice->port_count; i++) {
        if (slice->ports[i].port)
            return true;
    }
    return false;
}

int endpoints_each_of_any(const struct route_facts *facts, const struct service *service,
                          uint8_t family, usable_fn each, void *context)
{
    size_t count;
    const struct endpoint_slice *const *slices =
        store_slices_of(facts->store, service->object.namespace, service->object.name, &count);
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        if (slice_counts(slices[i], family) && has_any_port(slices[i]))
            r = each_of_slice(facts, slices[i], 0, each, context);
    }
    return r;
}
