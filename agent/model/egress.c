// SPDX-License-Identifier: Apache-2.0
/* Egresses: from a document, compared, and written back. The rules are those of Coil's webhook and
 * schema. For flows sessionAffinityConfig has no say, since each stays with its gateway anyway; it
 * is passed on to the Service. */
#include "model/egress.h"

#include "format/doc_json.h"
#include "model/fields/decode.h"
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/kind.h"

/* Half of all addresses begins with the unspecified one, and may be meant. */
static bool is_never_left_for(const struct prefix *prefix)
{
    const struct ip unspecified = { .family = prefix->ip.family };
    return ip_is_special(&prefix->ip) && ip_cmp(&prefix->ip, &unspecified) != 0;
}

static void decode_destinations(struct decoder *decoder, const struct doc *spec,
                                struct egress *egress)
{
    const struct doc *list = decode_list(decoder, decode_need(decoder, spec, "destinations"));
    if (list && list->count == 0)
        decode_error(decoder, list, object_field_empty);
    struct prefix *destinations =
        decode_alloc(decoder, list ? list->count : 0, sizeof(*destinations));
    if (!destinations)
        return;
    egress->destinations = destinations;
    doc_each(node, list) {
        struct prefix *destination = &destinations[egress->destination_count];
        if (!decode_prefix(decoder, node, IP_NONE, destination))
            continue;
        if (is_never_left_for(destination))
            decode_warning(decoder, node, egress_destination_never_left_for);
        egress->destination_count++;
    }
}

/* A part that others check: the API, when an object is made of it. */
static const char *decode_part(struct decoder *decoder, const struct doc *node)
{
    AUTOTEXT struct text text = { 0 };
    struct json json = { .out = &text };
    if (!node)
        return NULL;
    json_doc(&json, NULL, node);
    decoder->no_memory |= text_error(&text) < 0;
    return decode_keep_part(decoder, text_str(&text), text.length);
}

static void decode_workload(struct decoder *decoder, const struct doc *spec, struct egress *egress)
{
    const struct doc *budget = decode_map(decoder, doc_get(spec, "podDisruptionBudget"));
    egress->strategy = decode_part(decoder, decode_map(decoder, doc_get(spec, "strategy")));
    egress->pod_template = decode_part(decoder, decode_map(decoder, doc_get(spec, "template")));
    egress->affinity_config =
        decode_part(decoder, decode_map(decoder, doc_get(spec, "sessionAffinityConfig")));
    egress->min_available = decode_part(decoder, doc_get(budget, "minAvailable"));
    egress->max_unavailable = decode_part(decoder, doc_get(budget, "maxUnavailable"));
}

static void decode_status(struct decoder *decoder, const struct doc *root, struct egress *egress)
{
    const struct doc *status = decode_map(decoder, doc_get(root, "status"));
    egress->told_replicas =
        (int32_t)decode_int(decoder, doc_get(status, "replicas"), 0, INT32_MAX, -1);
    egress->told_selector = decode_keep(decoder, decode_text(decoder, doc_get(status, "selector")));
}

static const char *const affinity_names[] = { "ClientIP", "None", NULL };

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct egress *egress = (struct egress *)object;
    egress->gateway_nodes = decode_keep(
        decoder, decode_text(decoder, decode_annotation(decoder, EGRESS_GATEWAY_NODES)));
    const struct doc *spec = decode_map(decoder, decode_need(decoder, root, "spec"));
    if (!spec)
        return;
    decode_destinations(decoder, spec, egress);
    egress->replicas = (uint32_t)decode_int(decoder, doc_get(spec, "replicas"), 1, INT32_MAX, 1);
    egress->fou_source_port_auto = decode_bool(decoder, doc_get(spec, "fouSourcePortAuto"), false);
    egress->by_client = decode_word(decoder, doc_get(spec, "sessionAffinity"), affinity_names) == 0;
    decode_workload(decoder, spec, egress);
    decode_status(decoder, root, egress);
}

static bool equal(const struct object *a, const struct object *b)
{
    const struct egress *left = to_egress(a), *right = to_egress(b);
    return left->replicas == right->replicas &&
           left->fou_source_port_auto == right->fou_source_port_auto &&
           left->by_client == right->by_client &&
           text_equal(left->gateway_nodes, right->gateway_nodes) &&
           text_equal(left->strategy, right->strategy) &&
           text_equal(left->pod_template, right->pod_template) &&
           text_equal(left->affinity_config, right->affinity_config) &&
           text_equal(left->min_available, right->min_available) &&
           text_equal(left->max_unavailable, right->max_unavailable) &&
           left->told_replicas == right->told_replicas &&
           text_equal(left->told_selector, right->told_selector) &&
           prefixes_equal(left->destinations, left->destination_count, right->destinations,
                          right->destination_count);
}

static void encode_annotations(const struct object *object, struct json *json)
{
    const struct egress *egress = to_egress(object);
    if (!egress->gateway_nodes)
        return;
    json_begin_object(json, "annotations");
    json_string(json, EGRESS_GATEWAY_NODES, egress->gateway_nodes);
    json_end_object(json);
}

static void encode_part(struct json *json, const char *key, const char *part)
{
    if (part)
        json_raw(json, key, part);
}

static void encode_workload(const struct egress *egress, struct json *json)
{
    encode_part(json, "strategy", egress->strategy);
    encode_part(json, "template", egress->pod_template);
    encode_part(json, "sessionAffinityConfig", egress->affinity_config);
    json_begin_object(json, "podDisruptionBudget");
    encode_part(json, "minAvailable", egress->min_available);
    encode_part(json, "maxUnavailable", egress->max_unavailable);
    json_end_object(json);
}

static void encode_status(const struct egress *egress, struct json *json)
{
    json_begin_object(json, "status");
    if (egress->told_replicas >= 0)
        json_int(json, "replicas", egress->told_replicas);
    if (egress->told_selector)
        json_string(json, "selector", egress->told_selector);
    json_end_object(json);
}

static void encode_rest(const struct object *object, struct json *json)
{
    const struct egress *egress = to_egress(object);
    json_begin_object(json, "spec");
    encode_prefixes(json, "destinations", egress->destinations, egress->destination_count);
    json_int(json, "replicas", egress->replicas);
    encode_flag(json, "fouSourcePortAuto", egress->fou_source_port_auto);
    if (!egress->by_client)
        json_string(json, "sessionAffinity", "None");
    encode_workload(egress, json);
    json_end_object(json);
    encode_status(egress, json);
}

const struct kind_row egress_kind = {
    .api_version = "coil.cybozu.com/v2",
    .name = "Egress",
    .namespaced = true,
    .identified = true,
    .size = sizeof(struct egress),
    .decode = decode,
    .equal = equal,
    .encode_metadata = encode_annotations,
    .encode_rest = encode_rest,
};
