// SPDX-License-Identifier: Apache-2.0
/*
 * The claims of Services on one address: which exist, are they served, which Service has a port,
 * may this node announce them, and which of their ports have usable endpoints.
 *
 * Called by the route planner and the NAT planner, which must agree on all of this. The rules are
 * those of kube-proxy for what is served, and of the well-known labels and conditions for what a
 * node may attract.
 */
#include "plan/routes/claim.h"

#include <errno.h>
#include <string.h>

#include "model/node.h"
#include "plan/claims/placement.h"
#include "plan/nat/endpoints.h"
#include "plan/pools/advertised.h"

bool claim_in_ranges(const prefix_list *ranges, const struct ip *ip)
{
    vec_each(const struct prefix, range, ranges) {
        if (prefix_contains(range, ip))
            return true;
    }
    return false;
}

/* A label names another proxy, even if empty, unless it is the configured name. */
static bool is_our_proxys(const struct config *config, const struct service *service)
{
    const char *ours = config->services.proxy_name;
    if (service->headless_label)
        return false;
    return !service->proxy_name || (*ours && strcmp(service->proxy_name, ours) == 0);
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

enum address_reason claim_service(const struct config *config, const struct service *service)
{
    if (service->type == SERVICE_EXTERNAL_NAME)
        return REASON_WRONG_TYPE;
    if (service->headless)
        return REASON_HEADLESS;
    return is_our_proxys(config, service) ? REASON_ANNOUNCED : REASON_OTHER_PROXY;
}

/* An empty loadBalancerClass in the configuration means Services without a class. */
bool claim_is_our_class(const struct config *config, const struct service *service)
{
    const char *named = service->load_balancer_class ? service->load_balancer_class : "";
    return strcmp(named, config->services.load_balancer_class) == 0;
}

/*
 * In the configured ranges. Without ranges: all, except addresses that should be in a pool and are
 * not. If there are pools, an address that is only in a status is not ours, unless the allocator
 * has marked the Service (there an edit of a pool that would orphan addresses is not in force), or
 * it was served before there were pools (kept). An address of another class belongs to another load
 * balancer, and is served here as by kube-proxy.
 */
static bool is_balanced_here(const struct node_facts *facts, const struct service *service,
                             const struct service_address *address)
{
    const prefix_list *ranges = &facts->config->services.load_balancer_ips;
    if (ranges->count)
        return claim_in_ranges(ranges, &address->ip);
    return store_count(facts->store, KIND_IP_POOL) == 0 ||
           !claim_is_our_class(facts->config, service) || service->assigned || address->kept ||
           advertised_pool(facts->store, &address->ip);
}

enum address_reason claim_served(const struct node_facts *facts, const struct service *service,
                                 const struct service_address *address)
{
    const struct config *config = facts->config;
    const struct ip *ip = &address->ip;

    if (!has_address_type(service, address->origin))
        return REASON_WRONG_TYPE;
    enum address_reason reason = claim_service(config, service);
    if (reason != REASON_ANNOUNCED)
        return reason;
    if (ip_is_special(ip))
        return REASON_SPECIAL;

    switch (address->origin) {
    case ADDRESS_CLUSTER:
        return REASON_ANNOUNCED;
    case ADDRESS_EXTERNAL:
        if (claim_in_ranges(&config->services.service_cidrs, ip) || is_cluster_ip(facts->store, ip))
            return REASON_IN_SERVICE_CIDR;
        return claim_in_ranges(&config->services.external_ips, ip) ? REASON_ANNOUNCED
                                                                   : REASON_OUTSIDE_RANGES;
    case ADDRESS_LOAD_BALANCER:
        if (address->proxy_mode)
            return REASON_PROXY_MODE;
        return is_balanced_here(facts, service, address) ? REASON_ANNOUNCED : REASON_OUTSIDE_RANGES;
    }
    return REASON_WRONG_TYPE;
}

int claim_candidates(const struct node_facts *facts, const struct ip *ip, candidate_list *list)
{
    size_t count;
    const struct service *const *services = store_services_at(facts->store, ip, &count);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < services[i]->address_count; j++) {
            const struct service_address *address = &services[i]->addresses[j];
            if (!ip_equal(&address->ip, ip))
                continue;
            struct candidate candidate = {
                .service = services[i],
                .address = address,
                .reason = claim_served(facts, services[i], address),
            };
            if (vec_push(list, candidate) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

bool claim_has_cluster_ip(const struct service *service, uint8_t family)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin == ADDRESS_CLUSTER && address->ip.family == family)
            return true;
    }
    return false;
}

int claim_nat_candidates(const struct node_facts *facts, const struct ip *ip, candidate_list *list)
{
    int r = claim_candidates(facts, ip, list);
    if (r < 0)
        return r;
    vec_each(struct candidate, candidate, list) {
        if (candidate->reason > REASON_HEADLESS &&
            !claim_has_cluster_ip(candidate->service, ip->family))
            candidate->reason = REASON_HEADLESS;
    }
    return 0;
}

static bool has_cluster_ip(const struct config *config, const struct service *service,
                           const struct ip *ip)
{
    enum address_reason reason = claim_service(config, service);
    if (reason != REASON_ANNOUNCED && reason != REASON_OTHER_PROXY)
        return false;
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin == ADDRESS_CLUSTER && ip_equal(&address->ip, ip))
            return true;
    }
    return false;
}

const struct service *claim_cluster_ip_owner(const struct node_facts *facts, const struct ip *ip)
{
    size_t count;
    const struct service *const *services = store_services_at(facts->store, ip, &count);
    for (size_t i = 0; i < count && !ip_is_special(ip); i++) {
        if (has_cluster_ip(facts->config, services[i], ip))
            return services[i];
    }
    return NULL;
}

static bool has_port(const struct service *service, enum protocol protocol, uint16_t port)
{
    for (uint32_t i = 0; i < service->port_count; i++) {
        if (service->ports[i].protocol == protocol && service->ports[i].port == port)
            return true;
    }
    return false;
}

const struct service *claim_port_owner(const candidate_list *list, const struct candidate *until,
                                       enum protocol protocol, uint16_t port)
{
    vec_each(const struct candidate, older, list) {
        if (older == until)
            return NULL;
        if ((until && older->service == until->service) || older->reason < REASON_PORTS_TAKEN)
            continue;
        if (has_port(older->service, protocol, port))
            return older->service;
    }
    return NULL;
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

static bool is_of_clusters(const struct node_facts *facts, const struct ip *ip)
{
    return claim_in_ranges(&facts->config->services.service_cidrs, ip) ||
           is_cluster_ip(facts->store, ip);
}

bool claim_on_segment(const struct node_facts *facts, const struct service *service,
                      const struct service_address *address)
{
    const struct config *config = facts->config;
    const bool balanced = address->origin == ADDRESS_LOAD_BALANCER;
    if (!config->addresses.enabled || address->origin == ADDRESS_CLUSTER || !service->announce ||
        (balanced && !claim_is_our_class(config, service)) ||
        claim_served(facts, service, address) != REASON_ANNOUNCED ||
        store_node_at(facts->store, &address->ip))
        return false;
    return claim_in_ranges(&config->addresses.claim, &address->ip) ||
           (balanced && advertised_on_segment(facts->store, service, &address->ip, NULL, NULL));
}

/* Whether this node has an interface in the network of such an address. */
static bool is_connected(const struct node_facts *facts, const struct ip *ip)
{
    const struct link *link;
    return placement_on_link(facts, ip, NULL, &link) != PLACEMENT_NO_INTERFACE;
}

/*
 * A node without an interface in its network announces an address that only an L2Advertisement
 * selects like any other.
 */
static enum address_reason advertised(const struct node_facts *facts, const struct service *service,
                                      const struct ip *ip)
{
    enum address_reason reason = advertised_here(facts, service, ip);
    if (reason != REASON_L2_ONLY || !facts->config->addresses.enabled || !facts->links)
        return reason;
    const struct object *own = store_get(facts->store, KIND_NODE, "", facts->config->node);
    return advertised_on_segment(facts->store, service, ip, own ? to_node(own) : NULL, NULL)
               ? REASON_ANNOUNCED
               : REASON_OTHER_NODES;
}

enum address_reason claim_announceable(const struct route_inputs *inputs,
                                       const struct candidate *candidate,
                                       const struct real_address *real)
{
    const struct node_facts *facts = inputs->node;
    const struct service *service = candidate->service;
    const struct service_address *address = candidate->address;
    if (address->origin == ADDRESS_LOAD_BALANCER && !claim_is_our_class(facts->config, service))
        return REASON_OTHER_CLASS;
    if (claim_on_segment(facts, service, address) && is_connected(facts, &address->ip))
        return REASON_CLAIMED;
    /*
     * A ClusterIP on an interface of this node is configured there on purpose, advertised or not.
     */
    if (real && address->origin == ADDRESS_CLUSTER && real->reason == REASON_LOCAL_ADDRESS)
        return REASON_LOCAL_ADDRESS;
    if (!is_advertised(facts->config, address->origin))
        return REASON_NOT_ADVERTISED;
    if (!service->announce)
        return REASON_OPTED_OUT;
    if (address->origin == ADDRESS_LOAD_BALANCER) {
        enum address_reason reason = advertised(facts, service, &address->ip);
        if (reason != REASON_ANNOUNCED)
            return reason;
    }
    if (real)
        return real->reason;
    if (address->origin == ADDRESS_LOAD_BALANCER && is_of_clusters(facts, &address->ip))
        return REASON_SERVICE_NETWORK;
    if (inputs->standing == STANDING_GONE)
        return REASON_NODE_GONE;
    if (inputs->standing == STANDING_WITHDRAWN)
        return REASON_WITHDRAWN;

    const struct object *object = store_get(facts->store, KIND_NODE, "", facts->config->node);
    const struct node *node = object ? to_node(object) : NULL;
    if (node && node->excluded)
        return REASON_NODE_EXCLUDED;
    if (node && node->network_unavailable)
        return REASON_NETWORK_UNAVAILABLE;
    return REASON_ANNOUNCED;
}

static int note_usable(void *context, const struct backend *backend)
{
    struct port_endpoints *usable = context;
    if (!endpoint_is_usable(backend->endpoint))
        return 0;
    usable->anywhere = true;
    usable->local |= backend->local;
    return 0;
}

int claim_port_endpoints(const struct node_facts *facts, const struct service *service,
                         const struct service_port *port, uint8_t family,
                         struct port_endpoints *ret_usable)
{
    struct port_endpoints usable = { 0 };
    int r = endpoints_each(facts, service, port, family, note_usable, &usable);
    if (r < 0)
        return r;
    *ret_usable = usable;
    return 0;
}
