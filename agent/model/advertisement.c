// SPDX-License-Identifier: Apache-2.0
/*
 * Advertisements: from a document, compared, and written back. Both kinds select the same way.
 *
 * What a BGPAdvertisement says of how MetalLB's own speaker announces is not done here: BIRD
 * speaks, by its own configuration. Each such field is a warning that names the way we do it, and
 * the rest of the object counts. aggregationLength is taken where it says what is done anyway.
 */
#include "model/advertisement.h"

#include "base/macro.h"
#include "model/fields/decode.h"
#include "model/fields/decode_lists.h"
#include "model/fields/equal.h"
#include "model/kind.h"

enum { LENGTH_MAX = 128 };

static bool is_used(const struct doc *node)
{
    return node && !(node->type == DOC_LIST && node->count == 0);
}

static void refuse_lengths(struct decoder *decoder, const struct doc *spec, const char *key,
                           int64_t host)
{
    const struct doc *node = doc_get(spec, key);
    if (decode_int(decoder, node, 1, LENGTH_MAX, host) != host)
        decode_warning(decoder, node, advertisement_aggregation_undone, .field = key);
}

/* Fields of both kinds that are told, and not gone by. */
static void refuse_others(struct decoder *decoder, const struct doc *spec)
{
    static const struct {
        const char *key, *attribute; /* of a route class in birdconf */
    } attributes[] = {
        { "communities", "communities" },
        { "localPref", "preference" },
        { "asPathPrepend", "prepends (bgp_path.prepend)" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
        const struct doc *node = doc_get(spec, attributes[i].key);
        if (is_used(node))
            decode_warning(decoder, node, advertisement_attribute_undone,
                           .field = attributes[i].key, .attribute = attributes[i].attribute);
    }
    const struct doc *peers = doc_get(spec, "peers");
    const struct doc *preferred = doc_get(spec, "preferredNodeSelectors");
    if (is_used(peers))
        decode_warning(decoder, peers, advertisement_peers_undone);
    if (is_used(preferred))
        decode_warning(decoder, preferred, advertisement_preference_undone);
}

static void refuse_bgp(struct decoder *decoder, const struct doc *spec)
{
    refuse_lengths(decoder, spec, "aggregationLength", 32);
    refuse_lengths(decoder, spec, "aggregationLengthV6", 128);
}

/* An advertisement without a spec is of everything, as with MetalLB. */
static void decode_l2(struct decoder *decoder, const struct doc *spec,
                      struct advertisement *advertisement)
{
    advertisement->interfaces = decode_names(decoder, doc_get(spec, "interfaces"));
}

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct advertisement *advertisement = (struct advertisement *)object;
    const struct doc *spec = decode_map(decoder, doc_get(root, "spec"));
    if (!spec)
        return;
    advertisement->pools = decode_names(decoder, doc_get(spec, "ipAddressPools"));
    advertisement->pool_selectors =
        decode_selectors(decoder, doc_get(spec, "ipAddressPoolSelectors"));
    advertisement->service_selectors = decode_selectors(decoder, doc_get(spec, "serviceSelectors"));
    advertisement->node_selectors = decode_selectors(decoder, doc_get(spec, "nodeSelectors"));
    refuse_others(decoder, spec);
    if (object->kind == KIND_BGP_ADVERTISEMENT)
        refuse_bgp(decoder, spec);
    else
        decode_l2(decoder, spec, advertisement);
}

static bool equal(const struct object *a, const struct object *b)
{
    const struct advertisement *left = to_advertisement(a), *right = to_advertisement(b);
    return names_equal(&left->pools, &right->pools) &&
           names_equal(&left->interfaces, &right->interfaces) &&
           selectors_equal(&left->pool_selectors, &right->pool_selectors) &&
           selectors_equal(&left->service_selectors, &right->service_selectors) &&
           selectors_equal(&left->node_selectors, &right->node_selectors);
}

static void encode_rest(const struct object *object, struct json *json)
{
    const struct advertisement *advertisement = to_advertisement(object);
    json_begin_object(json, "spec");
    encode_names(json, "ipAddressPools", &advertisement->pools);
    encode_selectors(json, "ipAddressPoolSelectors", &advertisement->pool_selectors);
    encode_selectors(json, "serviceSelectors", &advertisement->service_selectors);
    encode_selectors(json, "nodeSelectors", &advertisement->node_selectors);
    if (object->kind == KIND_L2_ADVERTISEMENT)
        encode_names(json, "interfaces", &advertisement->interfaces);
    json_end_object(json);
}

const struct kind_row bgp_advertisement_kind = {
    .api_version = "metallb.io/v1beta1",
    .name = "BGPAdvertisement",
    .namespaced = true,
    .size = sizeof(struct advertisement),
    .decode = decode,
    .equal = equal,
    .encode_rest = encode_rest,
};

const struct kind_row l2_advertisement_kind = {
    .api_version = "metallb.io/v1beta1",
    .name = "L2Advertisement",
    .namespaced = true,
    .size = sizeof(struct advertisement),
    .decode = decode,
    .equal = equal,
    .encode_rest = encode_rest,
};
