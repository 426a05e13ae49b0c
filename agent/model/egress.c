// SPDX-License-Identifier: Apache-2.0
/* Egresses: from a document, compared, and written back. The rules are those of Coil's webhook and
 * schema. For flows sessionAffinityConfig has no say, since each stays with its gateway anyway; it
 * is passed on to the Service. */
#include "model/egress.h"

#include "format/doc_json.h"
#include "model/kind.h"

/* Half of all addresses begins with the unspecified one, and may be meant. */
static bool is_never_left_for(const struct prefix *prefix)
{
    const struct ip unspecified = { .family = prefix->ip.family };
    return ip_is_special(&prefix->ip) && ip_cmp(&prefix->ip, &unspecified) != 0;
}

static DECODE_FIELD(decode_destination, node)
{
    if (!decode_prefix(decoder, node, IP_NONE, field_member(field, base)))
        return false;
    if (is_never_left_for(base))
        decode_warning(decoder, node, egress_destination_never_left_for);
    return true;
}

/* A part that others check: the API, when an object is made of it. */
static DECODE_FIELD(decode_part, node)
{
    AUTOTEXT struct text text = { 0 };
    struct json json = { .out = &text };
    if (!node)
        return true;
    json_doc(&json, NULL, node);
    decoder->no_memory |= text_error(&text) < 0;
    *(const char **)field_member(field, base) =
        decode_keep_part(decoder, text_str(&text), text.length);
    return true;
}

static DECODE_FIELD(decode_map_part, node)
{
    return decode_part(decoder, decode_map(decoder, node), field, base);
}

static ENCODE_FIELD(encode_part)
{
    const char *part = *(const char *const *)field_at(field, base);
    if (part)
        json_raw(json, field->key, part);
}

static const struct field_type part = { decode_part, field_texts_equal, encode_part };

static const char *const affinity_names[] = { "ClientIP", "None", NULL };

static const struct field annotations[] = {
    { EGRESS_GATEWAY_NODES, &field_text_or_null, MEMBER(struct egress, gateway_nodes) },
    END(NULL),
};

static const struct field destination_items[] = {
    { .type = &field_prefix, .decode = decode_destination },
    END(NULL),
};

static const struct field budget[] = {
    { "minAvailable", &part, MEMBER(struct egress, min_available) },
    { "maxUnavailable", &part, MEMBER(struct egress, max_unavailable) },
    END(NULL),
};

#define MAP_PART(key, member)                                                \
    {                                                                        \
        key, &part, MEMBER(struct egress, member), .decode = decode_map_part \
    }

static const struct field spec[] = {
    { "destinations", &field_list, ITEMS(struct egress, destinations, destination_count),
      .fields = destination_items, .required = true },
    { "replicas", &field_number, MEMBER(struct egress, replicas), .min = 1, .max = INT32_MAX,
      .fallback = 1, .written = true },
    { "fouSourcePortAuto", &field_flag, MEMBER(struct egress, source_port_auto) },
    { "sessionAffinity", &field_word, MEMBER(struct egress, by_client), .words = affinity_names,
      .fallback = true },
    MAP_PART("strategy", strategy),
    MAP_PART("template", pod_template),
    MAP_PART("sessionAffinityConfig", affinity_config),
    { "podDisruptionBudget", &field_map, .fields = budget },
    END(""),
};

static const struct field status[] = {
    { "replicas", &field_number, MEMBER(struct egress, told_replicas), .max = INT32_MAX,
      .fallback = -1 },
    { "selector", &field_text_or_null, MEMBER(struct egress, told_selector) },
    END(NULL),
};

static const struct field fields[] = {
    { "spec", &field_map, .fields = spec, .required = true },
    { "status", &field_map, .fields = status },
    END("apiVersion kind metadata"),
};

const struct kind_row egress_kind = {
    .api_version = "coil.cybozu.com/v2",
    .name = "Egress",
    .namespaced = true,
    .identified = true,
    .size = sizeof(struct egress),
    .annotations = annotations,
    .fields = fields,
};
