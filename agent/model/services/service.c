// SPDX-License-Identifier: Apache-2.0
/*
 * Services: from a document, compared, and written back.
 *
 * A Service may carry anything that its owner wrote, and one bad line must not take the rest away:
 * addresses and annotations that can't be used are skipped with a warning. Ports, types and
 * policies decide which packets go where; what is wrong there refuses the whole object, so that
 * its last good content stays in force.
 */
#include "model/services/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "model/fields/decode.h"
#include "model/fields/digest.h"
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/fields/labels.h"
#include "model/kind.h"
#include "model/services/service_balance.h"
#include "model/services/service_conditions.h"
#include "model/services/service_export.h"
#include "model/services/service_idle.h"
#include "model/services/service_request.h"
#include "model/services/service_sense.h"

#define PROXY_NAME "service.kubernetes.io/service-proxy-name"
#define HEADLESS   "service.kubernetes.io/headless"

enum { PORT_MAX = 65535, ROUTE_CLASS_MAX = 29 };

static const char *const type_names[] = { "ClusterIP", "NodePort", "LoadBalancer", "ExternalName",
                                          NULL };
static const char *const policy_names[] = { "Cluster", "Local", NULL };

const char *service_type_name(enum service_type type)
{
    return type_names[type];
}

const char *address_origin_name(enum address_origin origin)
{
    static const char *const names[] = { "clusterIP", "externalIP", "loadBalancer" };
    return names[origin];
}

static int address_cmp(const void *a, const void *b)
{
    const struct service_address *left = a, *right = b;
    int r = CMP(left->origin, right->origin);
    return r ? r : ip_cmp(&left->ip, &right->ip);
}

static int port_cmp(const void *a, const void *b)
{
    const struct service_port *left = a, *right = b;
    int r = CMP(left->protocol, right->protocol);
    return r ? r : CMP(left->port, right->port);
}

/* The addresses so far, in an array that has room for all. */
struct gathered {
    struct service_address *addresses;
    uint32_t count;
    bool cluster;         /* a cluster IP was written, good or bad */
    bool none;            /* "None" was */
    const char *hostname; /* the first of an ingress entry; NULL: none */
    bool ports;           /* an ingress entry has some */
};

typedef void (*gather_fn)(struct decoder *decoder, const struct doc *node,
                          struct gathered *gathered);

static struct service_address *gather(struct decoder *decoder, const struct doc *node,
                                      enum address_origin origin, struct gathered *gathered)
{
    struct service_address *address = &gathered->addresses[gathered->count];
    if (!decode_ip(decoder, node, &address->ip))
        return NULL;
    address->origin = origin;
    gathered->count++;
    return address;
}

static bool is_none(const struct doc *node)
{
    return node->type == DOC_SCALAR && strcmp(node->text, "None") == 0;
}

static void gather_cluster(struct decoder *decoder, const struct doc *node,
                           struct gathered *gathered)
{
    if (node->type == DOC_NULL || (node->type == DOC_SCALAR && !*node->text))
        return;
    if (is_none(node)) {
        gathered->none = true;
        return;
    }
    gathered->cluster = true;
    (void)gather(decoder, node, ADDRESS_CLUSTER, gathered);
}

static void gather_external(struct decoder *decoder, const struct doc *node,
                            struct gathered *gathered)
{
    (void)gather(decoder, node, ADDRESS_EXTERNAL, gathered);
}

/* An entry may have a hostname only. Whoever wrote that is not one who gives addresses here. */
static void gather_ingress(struct decoder *decoder, const struct doc *entry,
                           struct gathered *gathered)
{
    if (!decode_map(decoder, entry))
        return;
    const char *hostname = decode_text(decoder, doc_get(entry, "hostname"));
    if (hostname && *hostname && !gathered->hostname)
        gathered->hostname = hostname;
    const struct doc *ports = decode_list(decoder, doc_get(entry, "ports"));
    gathered->ports |= ports && ports->count > 0;
    struct service_address *address =
        gather(decoder, doc_get(entry, "ip"), ADDRESS_LOAD_BALANCER, gathered);
    if (address)
        address->kept = doc_get(entry, SERVICE_KEPT) != NULL;
    const struct doc *mode_node = doc_get(entry, "ipMode");
    const char *mode = decode_text(decoder, mode_node);
    if (!address || !mode || !*mode || strcmp(mode, "VIP") == 0)
        return;
    /* As kube-proxy does: a mode that is not VIP, known or not, is none of a proxy's business. */
    address->proxy_mode = true;
    if (strcmp(mode, "Proxy") != 0)
        decode_warning(decoder, mode_node, object_word_replaced, .taken = "Proxy");
}

static void gather_list(struct decoder *decoder, const struct doc *list, gather_fn gather_one,
                        struct gathered *gathered)
{
    doc_each(node, list) {
        gather_one(decoder, node, gathered);
    }
}

/*
 * Addresses of ipMode Proxy go last (they are ingress addresses, as are the last of the others): of
 * one that is there in both modes, a proxy serves the one that is its business.
 */
static void put_proxy_mode_last(struct gathered *gathered, struct service_address *scratch)
{
    uint32_t count = 0, kept = 0;
    for (uint32_t i = 0; i < gathered->count; i++) {
        if (gathered->addresses[i].proxy_mode)
            scratch[count++] = gathered->addresses[i];
        else
            gathered->addresses[kept++] = gathered->addresses[i];
    }
    if (count)
        memcpy(&gathered->addresses[kept], scratch, count * sizeof(*scratch));
}

/* Drops what an earlier address of the same origin says already. */
static void unite_addresses(struct decoder *decoder, struct gathered *gathered)
{
    AUTOFREE bool *marks = calloc(gathered->count + (size_t)1, sizeof(*marks));
    AUTOFREE struct service_address *scratch =
        calloc(gathered->count + (size_t)1, sizeof(*scratch));
    if (scratch)
        put_proxy_mode_last(gathered, scratch);
    if (!marks || !scratch ||
        mark_duplicates(gathered->addresses, gathered->count, sizeof(*gathered->addresses),
                        address_cmp, marks) < 0) {
        decoder->no_memory = true;
        return;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < gathered->count; i++) {
        if (!marks[i])
            gathered->addresses[kept++] = gathered->addresses[i];
    }
    gathered->count = kept;
}

static size_t list_count(const struct doc *list)
{
    return list ? list->count : 0;
}

static void decode_addresses(struct decoder *decoder, const struct doc *root,
                             const struct doc *spec, struct service *service)
{
    const struct doc *cluster = decode_list(decoder, doc_get(spec, "clusterIPs"));
    const struct doc *single = doc_get(spec, "clusterIP");
    if (single && list_count(cluster) && !is_none(single))
        single = NULL;
    const struct doc *external = decode_list(decoder, doc_get(spec, "externalIPs"));
    const struct doc *status = decode_map(decoder, doc_get(root, "status"));
    const struct doc *balancer = decode_map(decoder, doc_get(status, "loadBalancer"));
    const struct doc *ingress = decode_list(decoder, doc_get(balancer, "ingress"));
    size_t room =
        list_count(cluster) + (single ? 1 : 0) + list_count(external) + list_count(ingress);
    struct gathered gathered = { .addresses =
                                     decode_alloc(decoder, room, sizeof(*gathered.addresses)) };
    if (gathered.addresses) {
        if (single)
            gather_cluster(decoder, single, &gathered);
        gather_list(decoder, cluster, gather_cluster, &gathered);
        gather_list(decoder, external, gather_external, &gathered);
        gather_list(decoder, ingress, gather_ingress, &gathered);
        unite_addresses(decoder, &gathered);
    }
    service->addresses = gathered.addresses;
    service->address_count = gathered.count;
    service->ingress_hostname = decode_keep(decoder, gathered.hostname);
    service->ingress_ports = gathered.ports;
    service->unheeded =
        decode_keep(decoder, decode_text(decoder, doc_get(balancer, SERVICE_UNHEEDED)));
    service->headless = gathered.none || (!gathered.cluster && service->type == SERVICE_CLUSTER_IP);
}

static void decode_port(struct decoder *decoder, const struct doc *node, struct service_port *port)
{
    if (!decode_map(decoder, node))
        return;
    const struct doc *number = decode_need(decoder, node, "port");
    port->name = decode_string(decoder, doc_get(node, "name"));
    port->protocol = decode_protocol(decoder, doc_get(node, "protocol"));
    port->port = (uint16_t)decode_int(decoder, number, 1, PORT_MAX, 0);
    port->node_port = (uint16_t)decode_int(decoder, doc_get(node, "nodePort"), 0, PORT_MAX, 0);
}

/* The ports stand in the order of their nodes in `list`. */
static void refuse_duplicates(struct decoder *decoder, const struct doc *list,
                              const struct service_port *ports)
{
    AUTOFREE bool *marks = calloc(list->count, sizeof(*marks));
    if (!marks || mark_duplicates(ports, list->count, sizeof(*ports), port_cmp, marks) < 0) {
        decoder->no_memory = true;
        return;
    }
    doc_each(node, list) {
        const struct service_port *port = &ports[node->index];
        if (marks[node->index] && port->port != 0)
            decode_error(decoder, node, service_port_twice, .port = port->port,
                         .protocol = protocol_name(port->protocol));
    }
}

static void decode_ports(struct decoder *decoder, const struct doc *spec, struct service *service)
{
    const struct doc *node = doc_get(spec, "ports");
    const struct doc *list = decode_list(decoder, node);
    bool none = !node || (list && list->count == 0);
    if (none && !service->headless && service->type != SERVICE_EXTERNAL_NAME)
        decode_error(decoder, spec, service_ports_missing);

    size_t count = list_count(list);
    struct service_port *ports = decode_alloc(decoder, count, sizeof(*ports));
    if (!ports)
        return;
    doc_each(port, list)
        decode_port(decoder, port, &ports[port->index]);
    refuse_duplicates(decoder, list, ports);
    service->ports = ports;
    service->port_count = list->count;
}

static bool decode_announce(struct decoder *decoder)
{
    const struct doc *node = decode_annotation(decoder, "fingerpost.io/announce");
    const char *text = decode_text(decoder, node);
    if (!text || strcmp(text, "true") == 0)
        return true;
    if (strcmp(text, "false") == 0)
        return false;
    decode_warning(decoder, node, object_flag_replaced, .taken = "true");
    return true;
}

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct service *service = (struct service *)object;
    const struct doc *spec = decode_map(decoder, decode_need(decoder, root, "spec"));
    if (!spec)
        return;
    service->type = (enum service_type)decode_word(decoder, doc_get(spec, "type"), type_names);
    decode_addresses(decoder, root, spec, service);
    decode_ports(decoder, spec, service);
    service->external_local =
        decode_word(decoder, doc_get(spec, "externalTrafficPolicy"), policy_names) == 1;
    service->internal_local =
        decode_word(decoder, doc_get(spec, "internalTrafficPolicy"), policy_names) == 1;
    service_balance_decode(decoder, spec, service);
    service_idle_check(decoder, spec, service);
    service_sense_check(decoder, spec, service);
    service->load_balancer_class =
        decode_keep(decoder, decode_text(decoder, doc_get(spec, "loadBalancerClass")));
    service->proxy_name = decode_keep(decoder, decode_label(decoder, PROXY_NAME));
    service->headless_label = decode_label(decoder, HEADLESS) != NULL;
    service->announce = decode_announce(decoder);
    service->route_class =
        decode_annotated_number(decoder, decode_annotation(decoder, "fingerpost.io/route-class"), 0,
                                ROUTE_CLASS_MAX, "no class");
    service->labels = decode_labels(decoder, &service->label_count);
    const char *egress;
    service->digest = decode_is_of_egress(decoder, object, &egress) ? decode_digest(decoder) : 0;
    service_request_decode(decoder, spec, &service->request);
    service->exports = service_export_decode(decoder);
    service_conditions_decode(decoder, decode_map(decoder, doc_get(root, "status")), service);
    service->status_writer = service_status_writer(decoder, doc_get(root, "metadata"));
}

static bool addresses_equal(const struct service *a, const struct service *b)
{
    if (a->address_count != b->address_count)
        return false;
    for (uint32_t i = 0; i < a->address_count; i++) {
        const struct service_address *left = &a->addresses[i], *right = &b->addresses[i];
        if (address_cmp(left, right) != 0 || left->proxy_mode != right->proxy_mode ||
            left->kept != right->kept)
            return false;
    }
    return true;
}

static bool ports_equal(const struct service *a, const struct service *b)
{
    if (a->port_count != b->port_count)
        return false;
    for (uint32_t i = 0; i < a->port_count; i++) {
        const struct service_port *left = &a->ports[i], *right = &b->ports[i];
        if (port_cmp(left, right) != 0 || left->node_port != right->node_port ||
            !text_equal(left->name, right->name))
            return false;
    }
    return true;
}

static bool equal(const struct object *a, const struct object *b)
{
    const struct service *left = to_service(a), *right = to_service(b);
    return left->type == right->type && left->headless == right->headless &&
           addresses_equal(left, right) && ports_equal(left, right) &&
           text_equal(left->ingress_hostname, right->ingress_hostname) &&
           left->ingress_ports == right->ingress_ports &&
           text_equal(left->unheeded, right->unheeded) &&
           left->external_local == right->external_local &&
           left->internal_local == right->internal_local && service_balance_equal(left, right) &&
           text_equal(left->load_balancer_class, right->load_balancer_class) &&
           text_equal(left->proxy_name, right->proxy_name) &&
           left->headless_label == right->headless_label && left->announce == right->announce &&
           left->route_class == right->route_class && left->digest == right->digest &&
           labels_equal(left->labels, left->label_count, right->labels, right->label_count) &&
           service_request_equal(&left->request, &right->request) &&
           service_export_equal(left->exports, right->exports) &&
           service_conditions_equal(left, right);
}

/* Of more labels than are kept, those that mean something by themselves are written beside them. */
static void encode_metadata(const struct object *object, struct json *json)
{
    const struct service *service = to_service(object);
    json_begin_object(json, "labels");
    encode_labels(json, service->labels, service->label_count);
    if (service->proxy_name && !labels_have(service->labels, service->label_count, PROXY_NAME))
        json_string(json, PROXY_NAME, service->proxy_name);
    if (service->headless_label && !labels_have(service->labels, service->label_count, HEADLESS))
        json_string(json, HEADLESS, "");
    json_end_object(json);
    json_begin_object(json, "annotations");
    if (!service->announce)
        json_string(json, "fingerpost.io/announce", "false");
    if (service->route_class >= 0)
        json_stringf(json, "fingerpost.io/route-class", "%d", service->route_class);
    service_request_encode_annotations(&service->request, json);
    service_export_encode(service->exports, json);
    json_end_object(json);
}

/*
 * A Service that had a cluster IP which can't be used is not headless: so that it does not become
 * one, something is written that can't be used.
 */
static void encode_cluster_ips(const struct service *service, struct json *json)
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

static void encode_external_ips(const struct service *service, struct json *json)
{
    json_begin_array(json, "externalIPs");
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin == ADDRESS_EXTERNAL)
            encode_ip(json, NULL, &service->addresses[i].ip);
    }
    json_end_array(json);
}

static void encode_ingress_of_others(const struct service *service, struct json *json)
{
    json_begin_object(json, NULL);
    if (service->ingress_hostname)
        json_string(json, "hostname", service->ingress_hostname);
    if (service->ingress_ports) {
        json_begin_array(json, "ports");
        json_begin_object(json, NULL);
        json_end_object(json);
        json_end_array(json);
    }
    json_end_object(json);
}

static void encode_ingress(const struct service *service, struct json *json)
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
        if (address->kept)
            json_bool(json, SERVICE_KEPT, true);
        json_end_object(json);
    }
    if (service->ingress_hostname || service->ingress_ports)
        encode_ingress_of_others(service, json);
    json_end_array(json);
}

static void encode_ports(const struct service *service, struct json *json)
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

static void encode_rest(const struct object *object, struct json *json)
{
    const struct service *service = to_service(object);
    encode_digest(json, service->digest);
    json_begin_object(json, "spec");
    json_string(json, "type", service_type_name(service->type));
    encode_cluster_ips(service, json);
    encode_external_ips(service, json);
    encode_ports(service, json);
    if (service->external_local)
        json_string(json, "externalTrafficPolicy", "Local");
    if (service->internal_local)
        json_string(json, "internalTrafficPolicy", "Local");
    service_balance_encode(service, json);
    service_request_encode(&service->request, json);
    if (service->load_balancer_class)
        json_string(json, "loadBalancerClass", service->load_balancer_class);
    json_end_object(json);
    json_begin_object(json, "status");
    json_begin_object(json, "loadBalancer");
    encode_ingress(service, json);
    if (service->unheeded)
        json_string(json, SERVICE_UNHEEDED, service->unheeded);
    json_end_object(json);
    service_conditions_encode(service, json);
    json_end_object(json);
}

const struct kind_row service_kind = {
    .api_version = "v1",
    .name = "Service",
    .namespaced = true,
    .identified = true,
    .size = sizeof(struct service),
    .decode = decode,
    .equal = equal,
    .encode_metadata = encode_metadata,
    .encode_rest = encode_rest,
};
