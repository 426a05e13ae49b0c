// SPDX-License-Identifier: Apache-2.0
/* Services and EndpointSlices as JSON; see encode.c. */
#include "model/encode_service.h"

#include "model/encode_member.h"
#include "model/endpoint_slice.h"
#include "model/service.h"

static void service_labels(const struct service *service, struct json *json)
{
    json_begin_object(json, "labels");
    if (service->proxy_name)
        json_string(json, "service.kubernetes.io/service-proxy-name", service->proxy_name);
    if (service->headless_label)
        json_string(json, "service.kubernetes.io/headless", "");
    json_end_object(json);
    json_begin_object(json, "annotations");
    if (!service->announce)
        json_string(json, "fingerpost.io/announce", "false");
    if (service->route_class >= 0)
        json_stringf(json, "fingerpost.io/route-class", "%d", service->route_class);
    json_end_object(json);
}

/*
 * A Service that had a cluster IP which can't be used is not headless: so that it does not become
 * one, something is written that can't be used.
 */
static void service_cluster_ips(const struct service *service, struct json *json)
{
    uint32_t count = 0;
    json_begin_array(json, "clusterIPs");
    if (service->headless)
        json_string(json, NULL, "None");
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin != ADDRESS_CLUSTER)
            continue;
        encode_ip(json, NULL, &service->addresses[i].ip);
        count++;
    }
    if (count == 0 && !service->headless && service->type == SERVICE_CLUSTER_IP)
        json_string(json, NULL, "unusable");
    json_end_array(json);
}

static void service_external_ips(const struct service *service, struct json *json)
{
    json_begin_array(json, "externalIPs");
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin == ADDRESS_EXTERNAL)
            encode_ip(json, NULL, &service->addresses[i].ip);
    }
    json_end_array(json);
}

static void service_ingress(const struct service *service, struct json *json)
{
    json_begin_array(json, "ingress");
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin != ADDRESS_LOAD_BALANCER)
            continue;
        json_begin_object(json, NULL);
        encode_ip(json, "ip", &address->ip);
        if (address->proxy_mode)
            json_string(json, "ipMode", "Proxy");
        json_end_object(json);
    }
    json_end_array(json);
}

static void service_ports(const struct service *service, struct json *json)
{
    json_begin_array(json, "ports");
    for (uint32_t i = 0; i < service->port_count; i++) {
        const struct service_port *port = &service->ports[i];
        json_begin_object(json, NULL);
        encode_text(json, "name", port->name);
        json_string(json, "protocol", protocol_name(port->protocol));
        json_int(json, "port", port->port);
        encode_number(json, "nodePort", port->node_port);
        json_end_object(json);
    }
    json_end_array(json);
}

static void service_balance(const struct service *service, struct json *json)
{
    if (service->source_range_count)
        encode_prefixes(json, "loadBalancerSourceRanges", service->source_ranges,
                        service->source_range_count);
    encode_number(json, "healthCheckNodePort", service->health_check_node_port);
    if (!service->affinity_seconds)
        return;
    json_string(json, "sessionAffinity", "ClientIP");
    json_begin_object(json, "sessionAffinityConfig");
    json_begin_object(json, "clientIP");
    json_int(json, "timeoutSeconds", service->affinity_seconds);
    json_end_object(json);
    json_end_object(json);
}

void encode_service_rest(const struct object *object, struct json *json)
{
    const struct service *service = to_service(object);
    json_begin_object(json, "spec");
    json_string(json, "type", service_type_name(service->type));
    service_cluster_ips(service, json);
    service_external_ips(service, json);
    service_ports(service, json);
    if (service->external_local)
        json_string(json, "externalTrafficPolicy", "Local");
    if (service->internal_local)
        json_string(json, "internalTrafficPolicy", "Local");
    service_balance(service, json);
    if (service->load_balancer_class)
        json_string(json, "loadBalancerClass", service->load_balancer_class);
    json_end_object(json);
    json_begin_object(json, "status");
    json_begin_object(json, "loadBalancer");
    service_ingress(service, json);
    json_end_object(json);
    json_end_object(json);
}

void encode_service_metadata(const struct object *object, struct json *json)
{
    service_labels(to_service(object), json);
}

void encode_slice_metadata(const struct object *object, struct json *json)
{
    const struct endpoint_slice *slice = to_endpoint_slice(object);
    json_begin_object(json, "labels");
    encode_text(json, "kubernetes.io/service-name", slice->service);
    if (slice->headless_label)
        json_string(json, "service.kubernetes.io/headless", "");
    json_end_object(json);
}

static void slice_ports(const struct endpoint_slice *slice, struct json *json)
{
    json_begin_array(json, "ports");
    for (uint32_t i = 0; i < slice->port_count; i++) {
        const struct slice_port *port = &slice->ports[i];
        json_begin_object(json, NULL);
        encode_text(json, "name", port->name);
        json_string(json, "protocol", protocol_name(port->protocol));
        encode_number(json, "port", port->port);
        json_end_object(json);
    }
    json_end_array(json);
}

static void hint_names(const char *key, const char *const *names, uint32_t count, struct json *json)
{
    json_begin_array(json, key);
    for (uint32_t i = 0; i < count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "name", names[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void slice_endpoint(const struct endpoint *endpoint, struct json *json)
{
    json_begin_object(json, NULL);
    json_begin_array(json, "addresses");
    encode_ip(json, NULL, &endpoint->ip);
    json_end_array(json);
    json_begin_object(json, "conditions");
    json_bool(json, "ready", endpoint->ready);
    json_bool(json, "serving", endpoint->serving);
    json_bool(json, "terminating", endpoint->terminating);
    json_end_object(json);
    encode_text(json, "nodeName", endpoint->node_name);
    if (endpoint->hints) {
        const struct endpoint_hints *hints = endpoint->hints;
        json_begin_object(json, "hints");
        hint_names("forZones", hints->zones, hints->zone_count, json);
        hint_names("forNodes", hints->nodes, hints->node_count, json);
        json_end_object(json);
    }
    json_end_object(json);
}

void encode_slice_rest(const struct object *object, struct json *json)
{
    const struct endpoint_slice *slice = to_endpoint_slice(object);
    json_string(json, "addressType",
                slice->family == IP_V4   ? "IPv4"
                : slice->family == IP_V6 ? "IPv6"
                                         : "FQDN");
    slice_ports(slice, json);
    json_begin_array(json, "endpoints");
    for (uint32_t i = 0; i < slice->endpoint_count; i++)
        slice_endpoint(&slice->endpoints[i], json);
    json_end_array(json);
}
