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

static void refuse(struct decoder *decoder, const struct doc *root, struct object *object)
{
    const struct doc *spec = doc_get(root, "spec");
    refuse_others(decoder, spec);
    if (object->kind != KIND_BGP_ADVERTISEMENT)
        return;
    refuse_lengths(decoder, spec, "aggregationLength", 32);
    refuse_lengths(decoder, spec, "aggregationLengthV6", 128);
}

#define NAMES(key, list)                                                       \
    {                                                                          \
        key, &field_list, ITEMS(struct advertisement, list.items, list.count), \
            .fields = text_items                                               \
    }
#define SELECTORS(key, list)                                                   \
    {                                                                          \
        key, &field_list, ITEMS(struct advertisement, list.items, list.count), \
            .fields = selector_items                                           \
    }
#define SELECTED                                                                         \
    NAMES("ipAddressPools", pools), SELECTORS("ipAddressPoolSelectors", pool_selectors), \
        SELECTORS("serviceSelectors", service_selectors),                                \
        SELECTORS("nodeSelectors", node_selectors)

static const struct field bgp_spec[] = {
    SELECTED,
    END("preferredNodeSelectors communities localPref asPathPrepend peers aggregationLength "
        "aggregationLengthV6"),
};

static const struct field l2_spec[] = {
    SELECTED,
    NAMES("interfaces", interfaces),
    END("preferredNodeSelectors"),
};

/* An advertisement without a spec is of everything, as with MetalLB. */
static const struct field bgp_fields[] = {
    { "spec", &field_map, .fields = bgp_spec },
    END("apiVersion kind metadata status"),
};

static const struct field l2_fields[] = {
    { "spec", &field_map, .fields = l2_spec },
    END("apiVersion kind metadata status"),
};

const struct kind_row bgp_advertisement_kind = {
    .api_version = "metallb.io/v1beta1",
    .name = "BGPAdvertisement",
    .namespaced = true,
    .size = sizeof(struct advertisement),
    .fields = bgp_fields,
    .decode = refuse,
};

const struct kind_row l2_advertisement_kind = {
    .api_version = "metallb.io/v1beta1",
    .name = "L2Advertisement",
    .namespaced = true,
    .size = sizeof(struct advertisement),
    .fields = l2_fields,
    .decode = refuse,
};
