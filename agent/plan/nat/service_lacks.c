// SPDX-License-Identifier: Apache-2.0
/*
 * What a Service lacks; see service_lacks.h. Called by the waiting engine, which delays each fault:
 * related objects are not created at the same time.
 *
 * Kubernetes does not report these: such a Service looks like one whose pods are not ready yet. An
 * endpoint counts if it is ready or serving, as for the planners (endpoints.h).
 */
#include "plan/nat/service_lacks.h"

#include <string.h>

#include "base/text.h"
#include "faults/waiting.h"
#include "model/node.h"
#include "plan/object_fault.h"
#include "plan/routes/claim.h"

/* A Service with its slices, and the list for its faults. */
struct look {
    const struct store *store;
    const struct service *service;
    const struct endpoint_slice *const *slices;
    size_t slice_count;
    struct faults *faults;
};

#define tell(look, id, ...) object_raise(look->faults, &look->service->object, id, __VA_ARGS__)

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

/* The first slice with endpoints, if no slice has the port; else NULL. */
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

/* "p (80/TCP)", "80/TCP" of one without a name. */
static char *port_text(const struct service_port *port)
{
    const bool named = *port->name != '\0';
    return text_format("%s%s%u/%s%s", port->name, named ? " (" : "", port->port,
                       protocol_name(port->protocol), named ? ")" : "");
}

static void tell_port(const struct look *look, const struct service_port *port,
                      const struct endpoint_slice *slice)
{
    const struct slice_port *other = slice->port_count ? &slice->ports[0] : NULL;
    const char *name = other && *other->name ? other->name : "without a name";
    AUTOFREE char *text = port_text(port);
    look->faults->incomplete |= !text;
    if (!other)
        tell(look, service_slice_without_ports, .port = text, .slice = slice->object.name);
    else if (other->port == 0)
        tell(look, service_port_unnumbered, .port = text, .slice = slice->object.name,
             .found = name);
    else
        tell(look, service_port_unserved, .port = text, .slice = slice->object.name, .found = name);
}

static void check_ports(const struct look *look)
{
    for (uint32_t i = 0; i < look->service->port_count; i++) {
        const struct service_port *port = &look->service->ports[i];
        const struct endpoint_slice *slice = lacks_port(look, port);
        if (!slice)
            continue;
        tell_port(look, port, slice);
        return;
    }
}

/* With policy Local an endpoint belongs to the Node that it names. */
static void check_nodes(const struct look *look)
{
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
    if (*lost->node_name)
        tell(look, service_endpoint_node_unknown, .slice = where->object.name,
             .address = ip_str(&lost->ip, address), .node = lost->node_name);
    else
        tell(look, service_endpoints_without_node, .slice = where->object.name,
             .address = ip_str(&lost->ip, address));
}

/* Endpoints of a family in which the Service has no ClusterIP. */
static void check_families(const struct look *look)
{
    for (size_t i = 0; i < look->slice_count; i++) {
        const struct endpoint_slice *slice = look->slices[i];
        if (slice->headless_label || slice->family == IP_NONE || !has_endpoint(slice) ||
            claim_has_cluster_ip(look->service, slice->family))
            continue;
        tell(look, service_family_missing, .slice = slice->object.name, .family = slice->family);
        return;
    }
}

/* Only host names, which kube-proxy skips as well. */
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
    if (names)
        tell(look, service_endpoints_are_names, .slice = names->object.name);
}

/*
 * Ranges apply to LoadBalancer addresses, by kube-proxy's rules: users might take them for a
 * firewall.
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
        tell(look, service_ranges_miss_external_ips, .address = ip_str(&address->ip, text));
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

/* The place is the Node, whichever Services have hints. */
static void check_zone(const struct look *look, const char *name)
{
    const struct object *node = store_get(look->store, KIND_NODE, "", name);
    if (!node || *to_node(node)->zone)
        return;
    for (size_t i = 0; i < look->slice_count; i++) {
        if (look->slices[i]->headless_label || !has_zone_hints(look->slices[i]))
            continue;
        object_raise(look->faults, node, node_zone_missing);
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
        object_raise(look->faults, &look->service->object, service_without_cluster_ip);
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
