// SPDX-License-Identifier: Apache-2.0
/*
 * EndpointSlices: from a document, compared, and written back.
 *
 * A slice says where traffic goes, so one that is cut short must not be taken for one that has
 * nothing to say: addressType and ports have to be there. Null stands for an empty list, and so do
 * no endpoints: the API leaves out the empty list since Kubernetes 1.36, and wrote null before.
 */
#include "model/services/endpoint_slice.h"

#include <string.h>

#include "base/clock.h"
#include "model/fields/decode.h"
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/kind.h"
#include "model/services/slice_parts.h"

enum { PORT_MAX = 65535 };

static const char managed_by[] = "endpointslice.kubernetes.io/managed-by";
static const char *const managers[] = {
    [SLICE_MIRROR] = "endpointslicemirroring-controller.k8s.io",
    [SLICE_ENDPOINTS] = "fingerpost.io/endpoints",
};

static enum slice_source decode_source(const char *manager)
{
    enum slice_source source = manager ? SLICE_ENDPOINTS : SLICE_OWN;
    while (source != SLICE_OWN && strcmp(manager, managers[source]) != 0)
        source--;
    return source;
}

static uint8_t decode_family(struct decoder *decoder, const struct doc *root)
{
    static const char *const words[] = { "IPv4", "IPv6", "FQDN", NULL };
    static const uint8_t families[] = { IP_V4, IP_V6, IP_NONE };
    const struct doc *node = decode_need(decoder, root, "addressType");
    if (node && node->type == DOC_SCALAR && !*node->text)
        decode_error(decoder, node, object_field_empty);
    return families[decode_word(decoder, node, words)];
}

/* NULL if it is absent, null, empty or wrong. */
static const struct doc *list_or_null(struct decoder *decoder, const struct doc *member)
{
    return member && member->type != DOC_NULL ? decode_list(decoder, member) : NULL;
}

void slice_decode_ports(struct decoder *decoder, const struct doc *list,
                        struct endpoint_slice *slice)
{
    struct slice_port *ports = decode_alloc(decoder, list ? list->count : 0, sizeof(*ports));
    if (!ports)
        return;
    slice->ports = ports;
    doc_each(node, list) {
        if (!decode_map(decoder, node))
            continue;
        struct slice_port *port = &ports[slice->port_count++];
        port->name = decode_string(decoder, doc_get(node, "name"));
        port->protocol = decode_protocol(decoder, doc_get(node, "protocol"));
        port->port = (uint16_t)decode_int(decoder, doc_get(node, "port"), 0, PORT_MAX, 0);
    }
}

/* The first address, if it is of the slice's family. */
static bool decode_address(struct decoder *decoder, const struct doc *node, uint8_t family,
                           struct ip *ret_ip)
{
    const struct doc *list = decode_list(decoder, doc_get(node, "addresses"));
    const struct doc *first = list ? list->first : NULL;
    struct ip ip;
    if (!first && family != IP_NONE)
        decode_warning(decoder, node, slice_endpoint_without_address);
    if (family == IP_NONE || !decode_ip(decoder, first, &ip))
        return false;
    if (ip.family != family) {
        decode_warning(decoder, first, slice_address_of_other_family);
        return false;
    }
    *ret_ip = ip;
    return true;
}

/* The names in a list of {name: ...}. */
static const char *const *decode_names(struct decoder *decoder, const struct doc *node,
                                       uint32_t *ret_count)
{
    const struct doc *list = decode_list(decoder, node);
    const char **names = decode_alloc(decoder, list ? list->count : 0, sizeof(*names));
    uint32_t count = 0;
    doc_each(entry, names ? list : NULL) {
        if (decode_map(decoder, entry))
            names[count++] = decode_string(decoder, doc_get(entry, "name"));
    }
    *ret_count = count;
    return names;
}

/* Most endpoints have none: they take no more than a pointer. */
static const struct endpoint_hints *decode_hints(struct decoder *decoder, const struct doc *node)
{
    if (!decode_map(decoder, node) || node->count == 0)
        return NULL;
    struct endpoint_hints *hints = decode_alloc(decoder, 1, sizeof(*hints));
    if (!hints)
        return NULL;
    hints->zones = decode_names(decoder, doc_get(node, "forZones"), &hints->zone_count);
    hints->nodes = decode_names(decoder, doc_get(node, "forNodes"), &hints->node_count);
    return hints;
}

static void decode_endpoints(struct decoder *decoder, const struct doc *root,
                             struct endpoint_slice *slice)
{
    const struct doc *list = list_or_null(decoder, decode_member(root, "endpoints"));
    struct endpoint *endpoints = decode_alloc(decoder, list ? list->count : 0, sizeof(*endpoints));
    if (!endpoints)
        return;
    slice->endpoints = endpoints;
    doc_each(node, list) {
        struct endpoint *endpoint = &endpoints[slice->endpoint_count];
        if (!decode_map(decoder, node))
            continue;
        const struct doc *conditions = decode_map(decoder, doc_get(node, "conditions"));
        endpoint->ready = decode_bool(decoder, doc_get(conditions, "ready"), true);
        endpoint->serving = decode_bool(decoder, doc_get(conditions, "serving"), true);
        endpoint->terminating = decode_bool(decoder, doc_get(conditions, "terminating"), false);
        if (!decode_address(decoder, node, slice->family, &endpoint->ip))
            continue;
        endpoint->node_name = decode_string(decoder, doc_get(node, "nodeName"));
        endpoint->hints = decode_hints(decoder, doc_get(node, "hints"));
        slice->endpoint_count++;
    }
}

/* Of use for a metric only, so that a bad one doesn't cost the slice. */
static int64_t decode_trigger(struct decoder *decoder)
{
    const struct doc *node =
        decode_annotation(decoder, "endpoints.kubernetes.io/last-change-trigger-time");
    const char *text = decode_text(decoder, node);
    int64_t ms = 0;
    if (text && clock_parse_rfc3339(text, &ms) < 0)
        decode_warning(decoder, node, object_time_ignored, .example = "2026-11-20T07:33:00Z");
    return ms;
}

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct endpoint_slice *slice = (struct endpoint_slice *)object;
    const char *service = decode_label(decoder, "kubernetes.io/service-name");
    slice->service = decode_keep(decoder, service ? service : "");
    slice->source = decode_source(decode_label(decoder, managed_by));
    slice->headless_label = decode_label(decoder, "service.kubernetes.io/headless") != NULL;
    slice->family = decode_family(decoder, root);
    /* In a cluster such a slice is somebody's own. */
    if (!*slice->service && !slice->headless_label && slice->family != IP_NONE &&
        decode_is_manifest(decoder))
        decode_warning(decoder, doc_get(root, "metadata"), slice_of_no_service,
                       .label = service ? "empty" : "missing");
    slice->triggered_ms = decode_trigger(decoder);
    const struct doc *ports = decode_member(root, "ports");
    if (!ports)
        decode_error(decoder, root, object_field_missing, .field = "ports");
    slice_decode_ports(decoder, list_or_null(decoder, ports), slice);
    decode_endpoints(decoder, root, slice);
}

static bool ports_equal(const struct endpoint_slice *a, const struct endpoint_slice *b)
{
    if (a->port_count != b->port_count)
        return false;
    for (uint32_t i = 0; i < a->port_count; i++) {
        const struct slice_port *left = &a->ports[i], *right = &b->ports[i];
        if (left->protocol != right->protocol || left->port != right->port ||
            !text_equal(left->name, right->name))
            return false;
    }
    return true;
}

static bool names_equal(const char *const *a, uint32_t a_count, const char *const *b,
                        uint32_t b_count)
{
    if (a_count != b_count)
        return false;
    for (uint32_t i = 0; i < a_count; i++) {
        if (strcmp(a[i], b[i]) != 0)
            return false;
    }
    return true;
}

static bool hints_equal(const struct endpoint_hints *a, const struct endpoint_hints *b)
{
    static const struct endpoint_hints none = { 0 };
    a = a ? a : &none;
    b = b ? b : &none;
    return names_equal(a->zones, a->zone_count, b->zones, b->zone_count) &&
           names_equal(a->nodes, a->node_count, b->nodes, b->node_count);
}

static bool endpoints_equal(const struct endpoint_slice *a, const struct endpoint_slice *b)
{
    if (a->endpoint_count != b->endpoint_count)
        return false;
    for (uint32_t i = 0; i < a->endpoint_count; i++) {
        const struct endpoint *left = &a->endpoints[i], *right = &b->endpoints[i];
        if (!ip_equal(&left->ip, &right->ip) || !text_equal(left->node_name, right->node_name) ||
            left->ready != right->ready || left->serving != right->serving ||
            left->terminating != right->terminating || !hints_equal(left->hints, right->hints))
            return false;
    }
    return true;
}

/* When it was triggered says nothing of where traffic goes. */
static bool equal(const struct object *a, const struct object *b)
{
    const struct endpoint_slice *left = to_endpoint_slice(a), *right = to_endpoint_slice(b);
    return text_equal(left->service, right->service) &&
           left->headless_label == right->headless_label && left->source == right->source &&
           left->family == right->family && ports_equal(left, right) &&
           endpoints_equal(left, right);
}

static void encode_metadata(const struct object *object, struct json *json)
{
    const struct endpoint_slice *slice = to_endpoint_slice(object);
    json_begin_object(json, "labels");
    encode_text(json, "kubernetes.io/service-name", slice->service);
    if (slice->source != SLICE_OWN)
        json_string(json, managed_by, managers[slice->source]);
    if (slice->headless_label)
        json_string(json, "service.kubernetes.io/headless", "");
    json_end_object(json);
}

static void encode_ports(const struct endpoint_slice *slice, struct json *json)
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

static void encode_names(const char *key, const char *const *names, uint32_t count,
                         struct json *json)
{
    json_begin_array(json, key);
    for (uint32_t i = 0; i < count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "name", names[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void encode_endpoint(const struct endpoint *endpoint, struct json *json)
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
        encode_names("forZones", hints->zones, hints->zone_count, json);
        encode_names("forNodes", hints->nodes, hints->node_count, json);
        json_end_object(json);
    }
    json_end_object(json);
}

static void encode_rest(const struct object *object, struct json *json)
{
    const struct endpoint_slice *slice = to_endpoint_slice(object);
    json_string(json, "addressType",
                slice->family == IP_V4   ? "IPv4"
                : slice->family == IP_V6 ? "IPv6"
                                         : "FQDN");
    encode_ports(slice, json);
    json_begin_array(json, "endpoints");
    for (uint32_t i = 0; i < slice->endpoint_count; i++)
        encode_endpoint(&slice->endpoints[i], json);
    json_end_array(json);
}

const struct kind_row endpoint_slice_kind = {
    .api_version = "discovery.k8s.io/v1",
    .name = "EndpointSlice",
    .namespaced = true,
    .size = sizeof(struct endpoint_slice),
    .decode = decode,
    .equal = equal,
    .encode_metadata = encode_metadata,
    .encode_rest = encode_rest,
};
