// SPDX-License-Identifier: Apache-2.0
/*
 * Fields of a Service of which one denies the other: families and clusterIPs, a headless Service
 * that is to have addresses, a port that is to be two things. Called by service.c.
 *
 * The API refuses all of them, so that objects of the API are not looked at. A manifest was seen by
 * nobody before us, and its owner goes by the field that he wrote last.
 */
#include "model/services/service_sense.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "format/quote.h"

static bool is_written(const struct doc *node)
{
    return node && node->type == DOC_SCALAR && *node->text;
}

static bool is_word(const struct doc *node, const char *word)
{
    return node && node->type == DOC_SCALAR && strcmp(node->text, word) == 0;
}

/* A list's elements; of anything else, which is an error by now, none. */
static const struct doc *list_at(const struct doc *spec, const char *key)
{
    const struct doc *list = doc_get(spec, key);
    return list && list->type == DOC_LIST ? list : NULL;
}

static uint8_t family_of(const struct doc *node)
{
    struct ip ip;
    return node->type == DOC_SCALAR && ip_parse(node->text, &ip) == 0 ? ip.family : IP_NONE;
}

/* A Service has one clusterIP of a family, and its families stand in the same order. */
static void check_families(struct decoder *decoder, const struct doc *spec)
{
    const struct doc *families = list_at(spec, "ipFamilies");
    const struct doc *named = families ? families->first : NULL;
    uint32_t seen[IP_V6 + 1] = { 0 };
    doc_each(node, list_at(spec, "clusterIPs")) {
        const uint8_t family = family_of(node);
        if (family != IP_NONE && seen[family]++)
            decode_warning(decoder, node, service_cluster_ip_second, .family = family);
        else if (family != IP_NONE && named && !is_word(named, family == IP_V4 ? "IPv4" : "IPv6"))
            decode_warning(decoder, named, service_families_disordered, .family = family);
        named = named ? named->next : NULL;
    }
}

static void check_policy(struct decoder *decoder, const struct doc *spec)
{
    const struct doc *policy = doc_get(spec, "ipFamilyPolicy");
    const struct doc *list = list_at(spec, "clusterIPs"), *families = list_at(spec, "ipFamilies");
    const uint32_t count = list ? list->count : is_written(doc_get(spec, "clusterIP")) ? 1 : 0;
    const bool none = is_word(list ? list->first : doc_get(spec, "clusterIP"), "None");
    if (is_word(policy, "SingleStack") && (count > 1 || (families && families->count > 1)))
        decode_warning(decoder, policy, service_family_policy_single);
    else if (is_word(policy, "RequireDualStack") && count == 1 && !none)
        decode_warning(decoder, policy, service_family_policy_dual);
}

static void check_headless(struct decoder *decoder, const struct doc *spec,
                           const struct service *service)
{
    const struct doc *list = list_at(spec, "clusterIPs");
    const struct doc *single = doc_get(spec, "clusterIP");
    const struct doc *none = is_word(single, "None")                ? single
                             : list && is_word(list->first, "None") ? list->first
                                                                    : NULL;
    if (none && service->type != SERVICE_CLUSTER_IP)
        decode_warning(decoder, none, service_headless_unserved,
                       .type = doc_get(spec, "type")->text);
}

/* An ExternalName has no packets: it is a name in DNS. */
static void check_external_name(struct decoder *decoder, const struct doc *spec,
                                const struct service *service)
{
    const struct doc *name = doc_get(spec, "externalName");
    if (service->type != SERVICE_EXTERNAL_NAME) {
        if (is_written(name))
            decode_warning(decoder, name, object_field_idle, .needs = "type: ExternalName");
        return;
    }
    if (!is_written(name))
        decode_warning(decoder, spec, service_external_name_missing);
    if (service->address_count && service->addresses[0].origin != ADDRESS_LOAD_BALANCER)
        decode_warning(decoder, spec, service_external_name_addresses);
}

static void check_distribution(struct decoder *decoder, const struct doc *spec)
{
    const struct doc *node = doc_get(spec, "trafficDistribution");
    char quoted[QUOTE_LEN];
    if (is_written(node) && !is_word(node, "PreferClose") && !is_word(node, "PreferSameZone") &&
        !is_word(node, "PreferSameNode"))
        decode_warning(decoder, node, object_word_ignored, .word = quote(node->text, quoted),
                       .expected = "PreferClose, PreferSameZone or PreferSameNode");
}

static int node_port_cmp(const void *a, const void *b)
{
    const struct service_port *left = a, *right = b;
    int r = CMP(left->protocol, right->protocol);
    return r ? r : CMP(left->node_port, right->node_port);
}

/* A node port that another port, or the health port, has as well. */
static void check_node_ports(struct decoder *decoder, const struct doc *spec,
                             const struct service *service)
{
    const uint16_t health = service->external_local ? service->health_check_node_port : 0;
    AUTOFREE bool *marks = calloc(service->port_count + (size_t)1, sizeof(*marks));
    if (!marks || mark_duplicates(service->ports, service->port_count, sizeof(*service->ports),
                                  node_port_cmp, marks) < 0) {
        decoder->no_memory = true;
        return;
    }
    doc_each(node, list_at(spec, "ports")) {
        const struct service_port *port = &service->ports[node->index];
        if (port->node_port == 0)
            continue;
        if (marks[node->index])
            decode_warning(decoder, node, service_node_port_twice, .port = port->node_port,
                           .protocol = protocol_name(port->protocol));
        if (port->node_port == health && port->protocol == PROTOCOL_TCP)
            decode_warning(decoder, node, service_node_port_is_health_port,
                           .port = port->node_port);
    }
}

/* What is for load balancers alone, and may be left from when the Service had one. */
static void check_balanced(struct decoder *decoder, const struct doc *spec,
                           const struct service *service)
{
    static const char *const keys[] = { "loadBalancerIP", "allocateLoadBalancerNodePorts" };
    const bool balanced = service->type == SERVICE_LOAD_BALANCER;
    for (size_t i = 0; !balanced && i < ARRAY_SIZE(keys); i++) {
        const struct doc *node = doc_get(spec, keys[i]);
        if (is_written(node))
            decode_warning(decoder, node, object_field_idle, .needs = "type: LoadBalancer");
    }
    if (service->health_check_node_port && (!balanced || !service->external_local))
        decode_warning(decoder, doc_get(spec, "healthCheckNodePort"), object_field_idle,
                       .needs = "type: LoadBalancer and externalTrafficPolicy: Local");
}

void service_sense_check(struct decoder *decoder, const struct doc *spec,
                         const struct service *service)
{
    if (decoder->silent || decoder->error_count || !decode_is_manifest(decoder))
        return;
    check_external_name(decoder, spec, service);
    if (service->type == SERVICE_EXTERNAL_NAME)
        return;
    check_headless(decoder, spec, service);
    check_families(decoder, spec);
    check_policy(decoder, spec);
    check_distribution(decoder, spec);
    check_node_ports(decoder, spec, service);
    check_balanced(decoder, spec, service);
}
