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
#include "model/fields/encode_member.h"
#include "model/fields/labels.h"
#include "model/kind.h"
#include "model/services/slice_parts.h"

enum { PORT_MAX = 65535 };

#define SERVICE_LABEL "kubernetes.io/service-name"

static const char *const managers[] = {
    [SLICE_MIRROR] = "endpointslicemirroring-controller.k8s.io",
    [SLICE_ENDPOINTS] = "fingerpost.io/endpoints",
};

static DECODE_FIELD(decode_source, node)
{
    const char *manager = decode_label(decoder, field->key);
    enum slice_source *source = field_member(field, base);
    *source = manager ? SLICE_ENDPOINTS : SLICE_OWN;
    while (*source != SLICE_OWN && strcmp(manager, managers[*source]) != 0)
        --*source;
    return true;
}

static ENCODE_FIELD(encode_source)
{
    enum slice_source source = *(const enum slice_source *)field_at(field, base);
    if (source != SLICE_OWN)
        json_string(json, field->key, managers[source]);
}

static const struct field_type source_label = { decode_source, field_numbers_equal, encode_source };

static const char *const family_words[] = { "IPv4", "IPv6", "FQDN", NULL };
static const uint8_t families[] = { IP_V4, IP_V6, IP_NONE };

static DECODE_FIELD(decode_family, node)
{
    if (node && node->type == DOC_SCALAR && !*node->text)
        decode_error(decoder, node, object_field_empty);
    *(uint8_t *)field_member(field, base) = families[decode_word(decoder, node, family_words)];
    return true;
}

static ENCODE_FIELD(encode_family)
{
    size_t i = 0;
    while (families[i] != *(const uint8_t *)field_at(field, base))
        i++;
    json_string(json, field->key, family_words[i]);
}

static const struct field_type family_type = { decode_family, field_numbers_equal, encode_family };

/* The first address, if it is of the slice's family. */
static DECODE_FIELD(decode_address, node)
{
    const uint8_t family = to_endpoint_slice(decoder->object)->family;
    const struct doc *endpoint = decoder->map, *list = decode_list(decoder, node);
    const struct doc *first = list ? list->first : NULL;
    struct ip ip;
    if (!first && family != IP_NONE)
        decode_warning(decoder, endpoint, slice_endpoint_without_address);
    if (family == IP_NONE || !decode_ip(decoder, first, &ip))
        return false;
    if (ip.family != family) {
        decode_warning(decoder, first, slice_address_of_other_family);
        return false;
    }
    *(struct ip *)field_member(field, base) = ip;
    return true;
}

static EQUAL_FIELD(address_equal)
{
    return ip_equal(field_at(field, a), field_at(field, b));
}

static ENCODE_FIELD(encode_address)
{
    json_begin_array(json, field->key);
    encode_ip(json, NULL, field_at(field, base));
    json_end_array(json);
}

static const struct field_type address_type = { decode_address, address_equal, encode_address };

static const struct field named_items[] = {
    { "name", &field_text, .written = true },
    END(NULL),
};

static const struct field hint_fields[] = {
    { "forZones", &field_list, ITEMS(struct endpoint_hints, zones, zone_count),
      .fields = named_items },
    { "forNodes", &field_list, ITEMS(struct endpoint_hints, nodes, node_count),
      .fields = named_items },
    END(NULL),
};

/* Most endpoints have none: they take no more than a pointer. */
static DECODE_FIELD(decode_hints, node)
{
    struct endpoint_hints *hints = NULL;
    if (decode_map(decoder, node) && node->count > 0)
        hints = decode_alloc(decoder, 1, sizeof(*hints));
    ((struct endpoint *)base)->hints = hints;
    return !hints || fields_decode(decoder, node, hint_fields, hints);
}

static const struct endpoint_hints *hints_of(const void *base)
{
    static const struct endpoint_hints none = { 0 };
    const struct endpoint *endpoint = base;
    return endpoint->hints ? endpoint->hints : &none;
}

static EQUAL_FIELD(hints_equal)
{
    return fields_equal(hint_fields, hints_of(a), hints_of(b));
}

static ENCODE_FIELD(encode_hints)
{
    fields_encode_map(json, field->key, hint_fields, false, hints_of(base));
}

static const struct field_type hints_type = { decode_hints, hints_equal, encode_hints };

/* Of use for a metric only, so that a bad one doesn't cost the slice. */
static DECODE_FIELD(decode_trigger, node)
{
    int64_t *ms = field_member(field, base);
    const char *text = decode_text(decoder, node);
    if (text && clock_parse_rfc3339(text, ms) < 0)
        decode_warning(decoder, node, object_time_ignored, .example = "2026-11-20T07:33:00Z");
    return true;
}

/* They may be null, but have to be there. */
static DECODE_FIELD(decode_ports, node)
{
    if (!decode_member(decoder->map, field->key))
        decode_error(decoder, decoder->map, object_field_missing, .field = field->key);
    return field_list.decode(decoder, node, field, base);
}

static const struct field labels[] = {
    { SERVICE_LABEL, &field_label, MEMBER(struct endpoint_slice, service) },
    { "endpointslice.kubernetes.io/managed-by", &source_label,
      MEMBER(struct endpoint_slice, source) },
    { "service.kubernetes.io/headless", &field_label_flag,
      MEMBER(struct endpoint_slice, headless_label) },
    END(NULL),
};

/* When it was triggered says nothing of where traffic goes. */
static const struct field annotations[] = {
    { "endpoints.kubernetes.io/last-change-trigger-time",
      MEMBER(struct endpoint_slice, triggered_ms), .decode = decode_trigger },
    END(NULL),
};

const struct field slice_port_fields[] = {
    { "name", &field_text, MEMBER(struct slice_port, name) },
    { "protocol", &field_protocol, MEMBER(struct slice_port, protocol) },
    { "port", &field_number, MEMBER(struct slice_port, port), .max = PORT_MAX },
    END("appProtocol"),
};

#define CONDITION(name, value)                                                                \
    {                                                                                         \
#name, &field_flag, MEMBER(struct endpoint, name), .fallback = value, .written = true \
    }

static const struct field condition_fields[] = {
    CONDITION(ready, true),
    CONDITION(serving, true),
    CONDITION(terminating, false),
    END(""),
};

static const struct field endpoint_fields[] = {
    { "conditions", &field_map, .fields = condition_fields },
    { "addresses", &address_type, MEMBER(struct endpoint, ip) },
    { "nodeName", &field_text, MEMBER(struct endpoint, node_name) },
    { "hints", &hints_type },
    END("deprecatedTopology hostname targetRef topology zone"),
};

static const struct field fields[] = {
    { "addressType", &family_type, MEMBER(struct endpoint_slice, family), .required = true },
    { "ports", &field_list, ITEMS(struct endpoint_slice, ports, port_count),
      .fields = slice_port_fields, .decode = decode_ports, .written = true },
    { "endpoints", &field_list, ITEMS(struct endpoint_slice, endpoints, endpoint_count),
      .fields = endpoint_fields },
    END("apiVersion kind metadata"),
};

/* In a cluster such a slice is somebody's own. */
static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    const struct endpoint_slice *slice = to_endpoint_slice(object);
    if (!*slice->service && !slice->headless_label && slice->family != IP_NONE &&
        decode_is_manifest(decoder))
        decode_warning(decoder, doc_get(root, "metadata"), slice_of_no_service,
                       .label = decode_label(decoder, SERVICE_LABEL) ? "empty" : "missing");
}

const struct kind_row endpoint_slice_kind = {
    .api_version = "discovery.k8s.io/v1",
    .name = "EndpointSlice",
    .namespaced = true,
    .size = sizeof(struct endpoint_slice),
    .labels = labels,
    .annotations = annotations,
    .fields = fields,
    .decode = decode,
};
