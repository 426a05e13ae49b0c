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

enum { PORT_MAX = 65535, ROUTE_CLASS_MAX = 29 };

static const char *const type_names[] = { "ClusterIP", "NodePort", "LoadBalancer", "ExternalName",
                                          NULL };
static const char *const family_policies[] = { "SingleStack", "PreferDualStack", "RequireDualStack",
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

/* A list's elements: those of another value, which its own field refuses, do not count. */
static size_t list_count(const struct doc *list)
{
    return list && list->type == DOC_LIST ? list->count : 0;
}

static const struct doc *find_ingress(const struct decoder *decoder)
{
    const struct doc *status = doc_get(decoder->document->root, "status");
    return doc_get(doc_get(status, "loadBalancer"), "ingress");
}

/* All addresses, since they are one array. */
static DECODE_FIELD(decode_addresses, node)
{
    struct service *service = base;
    const struct doc *single = doc_get(decoder->map, "clusterIP");
    const struct doc *cluster = decode_list(decoder, node);
    const struct doc *external = decode_list(decoder, doc_get(decoder->map, "externalIPs"));
    const struct doc *ingress = decode_list(decoder, find_ingress(decoder));
    if (single && list_count(cluster) && !is_none(single))
        single = NULL;
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
    service->headless = gathered.none || (!gathered.cluster && service->type == SERVICE_CLUSTER_IP);
    return true;
}

static EQUAL_FIELD(addresses_equal)
{
    const struct service *left = a, *right = b;
    if (left->headless != right->headless || left->ingress_ports != right->ingress_ports ||
        left->address_count != right->address_count ||
        !text_equal(left->ingress_hostname, right->ingress_hostname))
        return false;
    for (uint32_t i = 0; i < left->address_count; i++) {
        const struct service_address *one = &left->addresses[i], *other = &right->addresses[i];
        if (address_cmp(one, other) != 0 || one->proxy_mode != other->proxy_mode ||
            one->kept != other->kept)
            return false;
    }
    return true;
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

static DECODE_FIELD(decode_ports, node)
{
    const struct service *service = base;
    const bool none = !node || (node->type == DOC_LIST && node->count == 0);
    if (none && !service->headless && service->type != SERVICE_EXTERNAL_NAME)
        decode_error(decoder, decoder->map, service_ports_missing);
    (void)field_list.decode(decoder, node, field, base);
    if (service->port_count)
        refuse_duplicates(decoder, node, service->ports);
    return true;
}

static DECODE_FIELD(decode_announce, node)
{
    const char *text = decode_text(decoder, node);
    bool *announce = field_member(field, base);
    *announce = !text || strcmp(text, "false") != 0;
    if (text && *announce && strcmp(text, "true") != 0)
        decode_warning(decoder, node, object_flag_replaced, .taken = "true");
    return true;
}

static ENCODE_FIELD(encode_announce)
{
    if (!to_service(base)->announce)
        json_string(json, field->key, "false");
}

static const struct field_type announce_type = { decode_announce, field_numbers_equal,
                                                 encode_announce };

/*
 * A Service that had a cluster IP which can't be used is not headless: so that it does not become
 * one, something is written that can't be used.
 */
static ENCODE_FIELD(encode_cluster_ips)
{
    const struct service *service = base;
    uint32_t count = 0;
    json_begin_array(json, field->key);
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

static const struct field_type cluster_ips_type = { decode_addresses, addresses_equal,
                                                    encode_cluster_ips };

static ENCODE_FIELD(encode_external_ips)
{
    const struct service *service = base;
    json_begin_array(json, field->key);
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin == ADDRESS_EXTERNAL)
            encode_ip(json, NULL, &service->addresses[i].ip);
    }
    json_end_array(json);
}

static const struct field_type external_ips_type = { .encode = encode_external_ips };

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

static ENCODE_FIELD(encode_ingress)
{
    const struct service *service = base;
    json_begin_array(json, field->key);
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

static const struct field_type ingress_type = { .encode = encode_ingress };

static DECODE_FIELD(decode_own_digest, root)
{
    const char *egress;
    if (decode_is_of_egress(decoder, base, &egress))
        *(uint64_t *)field_member(field, base) = decode_digest(decoder);
    return true;
}

static const struct field labels[] = {
    { NULL, &field_labels, ITEMS(struct service, labels, label_count) },
    { "service.kubernetes.io/service-proxy-name", &field_label_or_null,
      MEMBER(struct service, proxy_name), BESIDE(struct service, labels, label_count) },
    { "service.kubernetes.io/headless", &field_label_flag, MEMBER(struct service, headless_label),
      BESIDE(struct service, labels, label_count) },
    END(NULL),
};

static const struct field annotations[] = {
    { "fingerpost.io/announce", &announce_type, MEMBER(struct service, announce) },
    { "fingerpost.io/route-class", &field_annotated_number, MEMBER(struct service, route_class),
      .max = ROUTE_CLASS_MAX, .fallback = -1, .words = (const char *const[]){ "no class" } },
    { NULL, &service_request_type },
    { NULL, &service_exports_type },
    END(NULL),
};

static const struct field port_fields[] = {
    { "name", &field_text, MEMBER(struct service_port, name) },
    { "protocol", &field_protocol, MEMBER(struct service_port, protocol) },
    { "port", &field_number, MEMBER(struct service_port, port), .min = 1, .max = PORT_MAX,
      .required = true },
    { "nodePort", &field_number, MEMBER(struct service_port, node_port), .max = PORT_MAX },
    END("appProtocol targetPort"),
};

static const struct field client_fields[] = { END("timeoutSeconds") };
static const struct field affinity_fields[] = {
    { "clientIP", .fields = client_fields },
    END(""),
};

/* Of what stands above its row. */
static DECODE_FIELD(check_spec, spec)
{
    service_idle_check(decoder, spec, base);
    service_sense_check(decoder, spec, base);
    return true;
}

static const struct field_type checks_type = { .decode = check_spec };

static const struct field spec[] = {
    { "type", &field_word, MEMBER(struct service, type), .words = type_names, .written = true },
    { "clusterIP" },
    { "clusterIPs", &cluster_ips_type },
    { "externalIPs", &external_ips_type },
    { "ports", &field_list, ITEMS(struct service, ports, port_count), .fields = port_fields,
      .decode = decode_ports },
    { "externalTrafficPolicy", &field_word, MEMBER(struct service, external_local),
      .words = policy_names },
    { "internalTrafficPolicy", &field_word, MEMBER(struct service, internal_local),
      .words = policy_names },
    { "loadBalancerSourceRanges", &field_list,
      ITEMS(struct service, source_ranges, source_range_count), .fields = cidr_items,
      .decode = service_decode_ranges },
    { "sessionAffinity", &service_affinity_type, MEMBER(struct service, affinity_seconds) },
    { "sessionAffinityConfig", .fields = affinity_fields },
    { "healthCheckNodePort", &field_number, MEMBER(struct service, health_check_node_port),
      .max = PORT_MAX },
    { NULL, &checks_type },
    { "ipFamilies", &service_families_type },
    { "selector", &service_selector_type },
    { "ipFamilyPolicy", &field_word, MEMBER(struct service, request.policy),
      .words = family_policies },
    { "loadBalancerClass", &field_text_or_null, MEMBER(struct service, load_balancer_class) },
    END("externalName loadBalancerIP allocateLoadBalancerNodePorts trafficDistribution "
        "topologyKeys publishNotReadyAddresses"),
};

static const struct field ingress_fields[] = { END("ip ipMode hostname ports") };

static const struct field balancer[] = {
    { "ingress", &ingress_type, .fields = ingress_fields, .listed = true },
    { SERVICE_UNHEEDED, &field_text_or_null, MEMBER(struct service, unheeded) },
    END(""),
};

static const struct field status[] = {
    { "loadBalancer", &field_map, .fields = balancer },
    { "conditions", &service_conditions_type },
    END(""),
};

static const struct field fields[] = {
    { NULL, &field_digest, MEMBER(struct service, digest), .decode = decode_own_digest },
    { "spec", &field_map, .fields = spec, .required = true },
    { "status", &field_map, .fields = status },
    END("apiVersion kind metadata"),
};

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct service *service = (struct service *)object;
    service->status_writer = service_status_writer(decoder, doc_get(root, "metadata"));
}

const struct kind_row service_kind = {
    .api_version = "v1",
    .name = "Service",
    .namespaced = true,
    .identified = true,
    .size = sizeof(struct service),
    .labels = labels,
    .annotations = annotations,
    .fields = fields,
    .decode = decode,
};
