// SPDX-License-Identifier: Apache-2.0
/*
 * What a Service lacks; see service_lacks.h. Called by the waiting engine, which bears with each
 * for a moment: objects that go together don't come together.
 *
 * Kubernetes says nothing of these: it takes a Service for one whose pods are not ready yet. An
 * endpoint that counts is one that is ready or serving, as for the planners (endpoints.h).
 */
#include "plan/service_lacks.h"

#include <string.h>

#include "base/text.h"
#include "model/node.h"
#include "plan/claim.h"

/* A Service with its slices, and where what it lacks goes. */
struct look {
    const struct store *store;
    const struct service *service;
    const struct endpoint_slice *const *slices;
    size_t slice_count;
    struct faults *faults;
};

static void tell(const struct look *look, const char *remedy, const char *message)
{
    const struct object *object = &look->service->object;
    AUTOFREE char *place = text_format("Service %s/%s", object->namespace, object->name);
    if (place && message)
        faults_add(look->faults, place, remedy, "%s", message);
    else
        look->faults->incomplete = true;
}

static bool counts(const struct endpoint *endpoint)
{
    return endpoint->ready || endpoint->serving;
}

static bool has_endpoint(const struct endpoint_slice *slice)
{
    for (uint32_t i = 0; i < slice->endpoint_count; i++) {
        if (counts(&slice->endpoints[i]))
            return true;
    }
    return false;
}

static bool has_port(const struct endpoint_slice *slice, const struct service_port *port)
{
    for (uint32_t i = 0; i < slice->port_count; i++) {
        const struct slice_port *found = &slice->ports[i];
        if (found->port && found->protocol == port->protocol &&
            strcmp(found->name, port->name) == 0)
            return true;
    }
    return false;
}

/* The first slice that has endpoints, if none of them all has the port; else NULL. */
static const struct endpoint_slice *lacks_port(const struct look *look,
                                               const struct service_port *port)
{
    const struct endpoint_slice *first = NULL;
    for (size_t i = 0; i < look->slice_count; i++) {
        const struct endpoint_slice *slice = look->slices[i];
        if (slice->headless_label || slice->family == IP_NONE)
            continue;
        if (has_port(slice, port))
            return NULL;
        first = !first && has_endpoint(slice) ? slice : first;
    }
    return first;
}

/* "port p (80/TCP)", "port 80/TCP" of one without a name. */
static char *port_text(const struct service_port *port)
{
    const bool named = *port->name != '\0';
    return text_format("port %s%s%u/%s%s", port->name, named ? " (" : "", port->port,
                       protocol_name(port->protocol), named ? ")" : "");
}

static void check_ports(const struct look *look)
{
    for (uint32_t i = 0; i < look->service->port_count; i++) {
        const struct service_port *port = &look->service->ports[i];
        const struct endpoint_slice *slice = lacks_port(look, port);
        if (!slice)
            continue;
        const struct slice_port *other = slice->port_count ? &slice->ports[0] : NULL;
        const char *name = other && *other->name ? other->name : "without a name";
        AUTOFREE char *text = port_text(port);
        AUTOFREE char *message =
            text_format("%s has no endpoints: no EndpointSlice has a numbered port of its name and "
                        "protocol; %s has %s%s%s",
                        text ? text : "a port", slice->object.name, other ? "one " : "none",
                        other ? name : "", other && other->port == 0 ? ", without a number" : "");
        tell(look,
             "give the ports of the EndpointSlice the names and protocols of the Service's; where "
             "Kubernetes writes it, see targetPort, and the names of the pods' ports",
             message);
        return;
    }
}

/* An endpoint of policy Local is that of the Node that it names. */
static void check_nodes(const struct look *look)
{
    static const char unnamed[] =
        "write its nodeName into the EndpointSlice, or use policy Cluster";
    const struct endpoint *lost = NULL;
    const struct endpoint_slice *where = NULL;
    uint32_t named = 0;
    char address[IP_STRLEN];
    for (size_t i = 0; i < look->slice_count; i++) {
        for (uint32_t j = 0; j < look->slices[i]->endpoint_count; j++) {
            const struct endpoint *endpoint = &look->slices[i]->endpoints[j];
            const bool is_named = *endpoint->node_name != '\0';
            if (!counts(endpoint))
                continue;
            named += is_named;
            if (is_named && store_get(look->store, KIND_NODE, "", endpoint->node_name))
                continue;
            if (!lost || (is_named && !*lost->node_name)) {
                lost = endpoint;
                where = look->slices[i];
            }
        }
    }
    if (!lost || (!*lost->node_name && named))
        return;
    AUTOFREE char *message =
        *lost->node_name
            ? text_format("EndpointSlice %s has endpoint %s on node %s, and there is no such Node: "
                          "by traffic policy Local it counts nowhere",
                          where->object.name, ip_str(&lost->ip, address), lost->node_name)
            : text_format("none of its endpoints has a nodeName, as %s of EndpointSlice %s: by "
                          "traffic policy Local they count nowhere",
                          ip_str(&lost->ip, address), where->object.name);
    tell(look, *lost->node_name ? "correct the nodeName, which is the name of a Node" : unnamed,
         message);
}

/* Endpoints of a family in which the Service has no address inside of the cluster. */
static void check_families(const struct look *look)
{
    for (size_t i = 0; i < look->slice_count; i++) {
        const struct endpoint_slice *slice = look->slices[i];
        if (slice->headless_label || slice->family == IP_NONE || !has_endpoint(slice) ||
            claim_has_cluster_ip(look->service, slice->family))
            continue;
        AUTOFREE char *message =
            text_format("EndpointSlice %s is of IPv%d, and the Service has no clusterIP of that "
                        "family: its endpoints count nowhere",
                        slice->object.name, slice->family);
        tell(look,
             "give the Service that family, in spec.ipFamilies and clusterIPs, or delete the "
             "EndpointSlice",
             message);
        return;
    }
}

/* Names of hosts, which kube-proxy passes over as well, and nothing beside them. */
static void check_names(const struct look *look)
{
    const struct endpoint_slice *names = NULL;
    for (size_t i = 0; i < look->slice_count; i++) {
        const struct endpoint_slice *slice = look->slices[i];
        if (slice->headless_label)
            continue;
        if (slice->family != IP_NONE && has_endpoint(slice))
            return;
        names = !names && slice->family == IP_NONE ? slice : names;
    }
    if (!names)
        return;
    AUTOFREE char *message = text_format("has names of hosts as endpoints, which nobody resolves: "
                                         "EndpointSlice %s is of addressType FQDN",
                                         names->object.name);
    tell(look,
         "write addresses into an EndpointSlice of addressType IPv4 or IPv6, or make the Service "
         "an ExternalName",
         message);
}

/* Ranges are for LoadBalancer addresses, by kube-proxy's rules: it would be taken for a firewall.
 */
static void check_source_ranges(const struct look *look, const struct config *config)
{
    const struct service *service = look->service;
    char text[IP_STRLEN];
    for (uint32_t i = 0; service->source_range_count && i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin != ADDRESS_EXTERNAL ||
            !claim_in_ranges(&config->services.external_ips, &address->ip))
            continue;
        AUTOFREE char *message =
            text_format("loadBalancerSourceRanges do not cover externalIPs: %s is open to "
                        "everybody",
                        ip_str(&address->ip, text));
        tell(look,
             "take it out of externalIPs, and ask for it by the annotation "
             "fingerpost.io/loadBalancerIPs; or let another firewall guard it and take the ranges "
             "away",
             message);
        return;
    }
}

static bool has_zone_hints(const struct endpoint_slice *slice)
{
    for (uint32_t i = 0; i < slice->endpoint_count; i++) {
        const struct endpoint *endpoint = &slice->endpoints[i];
        if (counts(endpoint) && endpoint->hints && endpoint->hints->zone_count)
            return true;
    }
    return false;
}

/* Said of the Node, whichever Services have hints. */
static void check_zone(const struct look *look, const char *name)
{
    const struct object *node = store_get(look->store, KIND_NODE, "", name);
    if (!node || *to_node(node)->zone)
        return;
    for (size_t i = 0; i < look->slice_count; i++) {
        AUTOFREE char *place = text_format("Node %s", name);
        if (look->slices[i]->headless_label || !has_zone_hints(look->slices[i]))
            continue;
        faults_add(look->faults, place ? place : "Node",
                   "kubectl label node NAME topology.kubernetes.io/zone=ZONE",
                   "EndpointSlices have hints for zones, and the Node has no label "
                   "topology.kubernetes.io/zone: it sends to endpoints of all zones");
        return;
    }
}

static bool has_any_cluster_ip(const struct service *service)
{
    return claim_has_cluster_ip(service, IP_V4) || claim_has_cluster_ip(service, IP_V6);
}

static void check_cluster_ip(const struct look *look)
{
    if (!has_any_cluster_ip(look->service))
        tell(look,
             "write a free address of services.serviceCIDRs as spec.clusterIP: only Kubernetes' "
             "API chooses one",
             "has no clusterIP: NAT serves none of its addresses and node ports");
}

void service_lacks(const struct store *store, const struct config *config,
                   const struct service *service, struct faults *faults)
{
    struct look look = { .store = store, .service = service, .faults = faults };
    if (claim_service(config, service) != REASON_ANNOUNCED)
        return;
    look.slices =
        store_slices_of(store, service->object.namespace, service->object.name, &look.slice_count);
    if (config->services.enabled)
        check_cluster_ip(&look);
    check_ports(&look);
    check_names(&look);
    if (has_any_cluster_ip(service))
        check_families(&look);
    if (config->services.enabled) {
        check_source_ranges(&look, config);
        check_zone(&look, config->node);
    }
    if ((service->external_local || service->internal_local) && store_count(store, KIND_NODE) > 0)
        check_nodes(&look);
}
