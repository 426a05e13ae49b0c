// SPDX-License-Identifier: Apache-2.0
/*
 * Determines a Service's endpoints from its slices: which slices count, which of their ports is
 * used, which endpoints are usable, which are local. claim.c checks whether there are any,
 * nat_sets.c selects among them.
 *
 * A service port finds its number by name and protocol in each slice, so that endpoints of
 * different versions may listen on different ports. A slice without a usable port (no number) does
 * not count.
 *
 * A slice may have any address. One in a network of ClusterIPs is not used as an endpoint: its
 * packets would return to the program, which would translate them again, in a loop. Nor is the
 * Service's own address, unless a host has it. The program itself handles addresses of other
 * Services.
 *
 * Slices may have copies of an endpoint while it moves from one to another, or while its address
 * already belongs to another pod. The most capable copies count.
 */
#include "plan/nat/endpoints.h"

#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/nat.h"
#include "faults/raise.h"
#include "plan/object_fault.h"
#include "plan/routes/real_address.h"

typedef VEC(struct backend) backend_list;

static bool slice_counts(const struct endpoint_slice *slice, uint8_t family)
{
    return !slice->headless_label && slice->family == family;
}

/* Whether it is an address of the Service itself that no host has. */
static bool is_own_address(const struct node_facts *facts, const struct service *service,
                           const struct ip *ip)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (ip_equal(&service->addresses[i].ip, ip))
            return !store_node_at(facts->store, ip) && !real_interface_of(facts, ip);
    }
    return false;
}

/* Packets to such an endpoint would be addressed to a Service again. */
static bool in_service_nets(const struct node_facts *facts, const struct ip *ip)
{
    vec_each(const struct prefix, net, &facts->config->services.service_cidrs) {
        if (prefix_contains(net, ip))
            return true;
    }
    return false;
}

static bool is_endpoint(const struct node_facts *facts, const struct service *service,
                        const struct ip *ip)
{
    return !in_service_nets(facts, ip) && !is_own_address(facts, service, ip);
}

static void add_fault(const struct node_facts *facts, const struct service *service,
                      const struct endpoint_slice *slice, uint32_t count, const struct ip *first,
                      struct faults *faults)
{
    char address[IP_STRLEN];
    object_raise(faults, &service->object, nat_endpoints_left_out, .slice = slice->object.name,
                 .count = count,
                 .where = in_service_nets(facts, first) ? "in services.serviceCIDRs"
                                                        : "addresses of the Service itself",
                 .first = ip_str(first, address), .more = count > 1 ? ", ..." : "");
}

void endpoints_faults(const struct node_facts *facts, const struct service *service,
                      struct faults *faults)
{
    size_t slice_count;
    const struct endpoint_slice *const *slices = store_slices_of(
        facts->store, service->object.namespace, service->object.name, &slice_count);
    for (size_t i = 0; i < slice_count; i++) {
        const struct ip *first = NULL;
        uint32_t count = 0;
        for (uint32_t j = 0; j < slices[i]->endpoint_count; j++) {
            const struct ip *ip = &slices[i]->endpoints[j].ip;
            if (is_endpoint(facts, service, ip))
                continue;
            first = first ? first : ip;
            count++;
        }
        if (count)
            add_fault(facts, service, slices[i], count, first, faults);
    }
}

static int each_of_slice(const struct node_facts *facts, const struct service *service,
                         const struct endpoint_slice *slice, uint16_t port, backend_fn each,
                         void *context)
{
    for (uint32_t i = 0; i < slice->endpoint_count; i++) {
        if (!is_endpoint(facts, service, &slice->endpoints[i].ip))
            continue;
        const struct backend backend = {
            .endpoint = &slice->endpoints[i],
            .port = port,
            .local = strcmp(slice->endpoints[i].node_name, facts->config->node) == 0,
        };
        int r = backend.endpoint->ready || backend.endpoint->serving ? each(context, &backend) : 0;
        if (r != 0)
            return r;
    }
    return 0;
}

static int keep(void *context, const struct backend *backend)
{
    return vec_push((backend_list *)context, *backend);
}

static bool is_meant(const struct slice_port *found, const struct service_port *port)
{
    return found->port && found->protocol == port->protocol && strcmp(found->name, port->name) == 0;
}

static int gather(const struct node_facts *facts, const struct service *service,
                  const struct service_port *port, uint8_t family, backend_list *list)
{
    size_t count;
    const struct endpoint_slice *const *slices =
        store_slices_of(facts->store, service->object.namespace, service->object.name, &count);

    for (size_t i = 0; i < count; i++) {
        for (uint32_t j = 0; slice_counts(slices[i], family) && j < slices[i]->port_count; j++) {
            const struct slice_port *found = &slices[i]->ports[j];
            int r = is_meant(found, port)
                        ? each_of_slice(facts, service, slices[i], found->port, keep, list)
                        : 0;
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* The capability of an endpoint: ready, usable, serving. */
static int worth(const struct endpoint *endpoint)
{
    return endpoint->ready ? 2 : endpoint_is_usable(endpoint);
}

static int place_cmp(const struct backend *left, const struct backend *right)
{
    int r = ip_cmp(&left->endpoint->ip, &right->endpoint->ip);
    return r ? r : CMP(left->port, right->port);
}

static int backend_cmp(const void *a, const void *b)
{
    const struct backend *left = a, *right = b;
    int r = place_cmp(left, right);
    return r ? r : CMP(worth(right->endpoint), worth(left->endpoint));
}

/* The usual case: all are ready. */
static bool can_do_the_same(const backend_list *list)
{
    for (size_t i = 1; i < list->count; i++) {
        if (worth(list->items[i].endpoint) != worth(list->items[0].endpoint))
            return false;
    }
    return true;
}

int endpoints_each(const struct node_facts *facts, const struct service *service,
                   const struct service_port *port, uint8_t family, backend_fn each, void *context)
{
    AUTOVEC backend_list list = { 0 };
    const struct backend *best = NULL;
    int r = gather(facts, service, port, family, &list);
    if (r < 0)
        return r;

    if (!can_do_the_same(&list))
        vec_sort(&list, backend_cmp);
    vec_each(const struct backend, backend, &list) {
        if (!best || place_cmp(best, backend) != 0)
            best = backend;
        if (worth(backend->endpoint) == worth(best->endpoint))
            r = each(context, backend);
        if (r != 0)
            return r;
    }
    return 0;
}

static bool has_any_port(const struct endpoint_slice *slice)
{
    for (uint32_t i = 0; i < slice->port_count; i++) {
        if (slice->ports[i].port)
            return true;
    }
    return false;
}

int endpoints_each_of_any(const struct node_facts *facts, const struct service *service,
                          uint8_t family, backend_fn each, void *context)
{
    size_t count;
    const struct endpoint_slice *const *slices =
        store_slices_of(facts->store, service->object.namespace, service->object.name, &count);

    for (size_t i = 0; i < count; i++) {
        int r = slice_counts(slices[i], family) && has_any_port(slices[i])
                    ? each_of_slice(facts, service, slices[i], 0, each, context)
                    : 0;
        if (r != 0)
            return r;
    }
    return 0;
}
