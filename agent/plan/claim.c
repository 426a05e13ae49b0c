// SPDX-License-Identifier: Apache-2.0
/*
 * One service's claim on one address: is it served, may this node announce it, and which of its
 * ports have usable endpoints.
 *
 * Called by routes.c only, which decides between the services that share an address. The rules are
 * those of kube-proxy for what is served, and of the well-known labels and conditions for what a
 * node may attract.
 */
#include "plan/claim.h"

#include <string.h>

#include "model/node.h"

static bool in_ranges(const prefix_list *ranges, const struct ip *ip)
{
    vec_each(const struct prefix, range, ranges) {
        if (prefix_contains(range, ip))
            return true;
    }
    return false;
}

/*
 * With a name of our own configured we serve the services labelled with it, else those without the
 * label; a label with an empty value is a label.
 */
static bool is_our_proxys(const struct config *config, const struct service *service)
{
    if (service->headless_label)
        return false;
    if (config->services.proxy_name[0] == '\0')
        return !service->proxy_name;
    return service->proxy_name && strcmp(service->proxy_name, config->services.proxy_name) == 0;
}

static bool has_address_type(const struct service *service, enum address_origin origin)
{
    if (service->type == SERVICE_EXTERNAL_NAME)
        return false;
    return origin != ADDRESS_LOAD_BALANCER || service->type == SERVICE_LOAD_BALANCER;
}

static bool is_cluster_ip(const struct store *store, const struct ip *ip)
{
    size_t count;
    const struct service *const *services = store_services_at(store, ip, &count);
    for (size_t i = 0; i < count; i++) {
        const struct service *service = services[i];
        for (uint32_t j = 0; j < service->address_count; j++) {
            const struct service_address *address = &service->addresses[j];
            if (address->origin == ADDRESS_CLUSTER && ip_equal(&address->ip, ip) &&
                has_address_type(service, ADDRESS_CLUSTER))
                return true;
        }
    }
    return false;
}

enum address_reason claim_served(const struct route_facts *facts, const struct service *service,
                                 const struct service_address *address)
{
    const struct config *config = facts->config;
    const struct ip *ip = &address->ip;

    if (!has_address_type(service, address->origin))
        return REASON_WRONG_TYPE;
    if (service->headless)
        return REASON_HEADLESS;
    if (!is_our_proxys(config, service))
        return REASON_OTHER_PROXY;
    if (ip_is_special(ip))
        return REASON_SPECIAL;

    switch (address->origin) {
    case ADDRESS_CLUSTER:
        return REASON_ANNOUNCED;
    case ADDRESS_EXTERNAL:
        if (in_ranges(&config->services.service_cidrs, ip) || is_cluster_ip(facts->store, ip))
            return REASON_IN_SERVICE_CIDR;
        return in_ranges(&config->services.external_ips, ip) ? REASON_ANNOUNCED
                                                             : REASON_OUTSIDE_RANGES;
    case ADDRESS_LOAD_BALANCER:
        if (address->proxy_mode)
            return REASON_PROXY_MODE;
        if (config->services.load_balancer_ips.count &&
            !in_ranges(&config->services.load_balancer_ips, ip))
            return REASON_OUTSIDE_RANGES;
        return REASON_ANNOUNCED;
    }
    return REASON_WRONG_TYPE;
}

/* An empty loadBalancerClass in the configuration stands for services that name none. */
static bool is_our_class(const struct config *config, const struct service *service)
{
    const char *class = service->load_balancer_class ? service->load_balancer_class : "";
    return strcmp(class, config->services.load_balancer_class) == 0;
}

static bool is_advertised(const struct config *config, enum address_origin origin)
{
    static const unsigned bits[] = {
        [ADDRESS_CLUSTER] = ADVERTISE_CLUSTER,
        [ADDRESS_EXTERNAL] = ADVERTISE_EXTERNAL,
        [ADDRESS_LOAD_BALANCER] = ADVERTISE_LOAD_BALANCER,
    };
    return config->services.advertise & bits[origin];
}

enum address_reason claim_announceable(const struct route_facts *facts,
                                       const struct service *service,
                                       const struct service_address *address)
{
    if (address->origin == ADDRESS_LOAD_BALANCER && !is_our_class(facts->config, service))
        return REASON_OTHER_CLASS;
    if (!is_advertised(facts->config, address->origin))
        return REASON_NOT_ADVERTISED;
    if (!service->announce)
        return REASON_OPTED_OUT;
    if (facts->standing == STANDING_GONE)
        return REASON_NODE_GONE;
    if (facts->standing == STANDING_WITHDRAWN)
        return REASON_WITHDRAWN;

    const struct object *object = store_get(facts->store, KIND_NODE, "", facts->config->node);
    const struct node *node = object ? to_node(object) : NULL;
    if (node && node->excluded)
        return REASON_NODE_EXCLUDED;
    if (node && node->network_unavailable)
        return REASON_NETWORK_UNAVAILABLE;
    return REASON_ANNOUNCED;
}

static bool slice_has_port(const struct endpoint_slice *slice, const struct service_port *port)
{
    for (uint32_t i = 0; i < slice->port_count; i++) {
        const struct slice_port *candidate = &slice->ports[i];
        if (candidate->port && candidate->protocol == port->protocol &&
            strcmp(candidate->name, port->name) == 0)
            return true;
    }
    return false;
}

struct port_endpoints claim_port_endpoints(const struct route_facts *facts,
                                           const struct service *service,
                                           const struct service_port *port, uint8_t family)
{
    struct port_endpoints ready = { 0 }, leaving = { 0 };
    size_t count;
    const struct endpoint_slice *const *slices =
        store_slices_of(facts->store, service->object.namespace, service->object.name, &count);

    for (size_t i = 0; i < count; i++) {
        const struct endpoint_slice *slice = slices[i];
        if (slice->headless_label || slice->family != family || !slice_has_port(slice, port))
            continue;
        for (uint32_t j = 0; j < slice->endpoint_count; j++) {
            const struct endpoint *endpoint = &slice->endpoints[j];
            bool local = strcmp(endpoint->node_name, facts->config->node) == 0;
            struct port_endpoints *set = endpoint->ready ? &ready : &leaving;
            if (!endpoint->ready && !(endpoint->serving && endpoint->terminating))
                continue;
            set->anywhere = true;
            set->local |= local;
        }
    }
    return (struct port_endpoints){
        .anywhere = ready.anywhere || leaving.anywhere,
        .local = ready.local || leaving.local,
    };
}
