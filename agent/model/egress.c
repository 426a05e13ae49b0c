// SPDX-License-Identifier: Apache-2.0
/* Egresses: from a document, compared, and written back. The rules are those of Coil's webhook and
 * schema; sessionAffinityConfig has no say, since a flow stays with its gateway anyway. */
#include "model/egress.h"

#include "model/decode.h"
#include "model/encode_member.h"
#include "model/equal.h"
#include "model/kind.h"

static void decode_destinations(struct decoder *decoder, const struct doc *spec,
                                struct egress *egress)
{
    const struct doc *list = decode_list(decoder, decode_need(decoder, spec, "destinations"));
    if (list && list->count == 0)
        decode_error(decoder, list, "is empty");
    struct prefix *destinations =
        decode_alloc(decoder, list ? list->count : 0, sizeof(*destinations));
    if (!destinations)
        return;
    egress->destinations = destinations;
    doc_each(node, list) {
        if (decode_prefix(decoder, node, IP_NONE, &destinations[egress->destination_count]))
            egress->destination_count++;
    }
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
}

static bool equal(const struct object *a, const struct object *b)
{
    const struct egress *left = to_egress(a), *right = to_egress(b);
    return left->replicas == right->replicas &&
           left->fou_source_port_auto == right->fou_source_port_auto &&
           left->by_client == right->by_client &&
           text_equal(left->gateway_nodes, right->gateway_nodes) &&
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

static void encode_rest(const struct object *object, struct json *json)
{
    const struct egress *egress = to_egress(object);
    json_begin_object(json, "spec");
    encode_prefixes(json, "destinations", egress->destinations, egress->destination_count);
    json_int(json, "replicas", egress->replicas);
    encode_flag(json, "fouSourcePortAuto", egress->fou_source_port_auto);
    if (!egress->by_client)
        json_string(json, "sessionAffinity", "None");
    json_end_object(json);
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
