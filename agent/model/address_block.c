// SPDX-License-Identifier: Apache-2.0
/*
 * AddressPools and AddressBlocks: from a document, compared, and written back.
 *
 * The rules are those of Coil's own webhook and schema, which a manifest never went through. A
 * block becomes a route that the whole fabric follows, so its prefix must be one that a pod can
 * have: never the default route, loopback, link-local or multicast.
 */
#include "model/address_block.h"

#include <string.h>

#include "model/fields/decode.h"
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/kind.h"

enum { BLOCK_SIZE_BITS_DEFAULT = 5, BLOCK_SIZE_BITS_MAX = 128 };

/* The bits below the prefix: its room for addresses. */
static int host_bits(const struct prefix *prefix)
{
    return ip_bits(&prefix->ip) - prefix->length;
}

static void check_width(struct decoder *decoder, const struct doc *node,
                        const struct prefix *prefix, int block_size_bits)
{
    char buffer[PREFIX_STRLEN];
    if (host_bits(prefix) < block_size_bits) {
        decode_error(decoder, node, block_too_wide, .network = prefix_str(prefix, buffer),
                     .bits = block_size_bits);
    }
}

/* Returns whether it is one that pods can have. */
static bool decode_pods_prefix(struct decoder *decoder, const struct doc *node,
                               enum ip_family family, struct prefix *prefix)
{
    if (!decode_prefix(decoder, node, family, prefix))
        return false;
    if (!ip_is_special(&prefix->ip))
        return true;
    decode_error(decoder, node, block_network_special);
    return false;
}

static void decode_subnet(struct decoder *decoder, const struct doc *node, int block_size_bits,
                          struct pool_subnet *subnet)
{
    if (!decode_map(decoder, node))
        return;
    const struct doc *ipv4 = doc_get(node, "ipv4"), *ipv6 = doc_get(node, "ipv6");
    if (!ipv4 && !ipv6)
        decode_error(decoder, node, block_family_missing);
    bool v4 = decode_pods_prefix(decoder, ipv4, IP_V4, &subnet->ipv4);
    bool v6 = decode_pods_prefix(decoder, ipv6, IP_V6, &subnet->ipv6);
    if (v4)
        check_width(decoder, ipv4, &subnet->ipv4, block_size_bits);
    if (v6)
        check_width(decoder, ipv6, &subnet->ipv6, block_size_bits);
    if (v4 && v6 && host_bits(&subnet->ipv4) != host_bits(&subnet->ipv6))
        decode_error(decoder, node, block_families_differ);
}

/* A pool that is older than the rule is used as it is: its blocks differ in their families. */
static void check_families(struct decoder *decoder, const struct doc *node,
                           const struct pool_subnet *first, const struct pool_subnet *subnet)
{
    if (first->ipv4.ip.family != subnet->ipv4.ip.family ||
        first->ipv6.ip.family != subnet->ipv6.ip.family)
        decode_warning(decoder, node, block_subnet_of_other_families);
}

static void decode_pool(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct address_pool *pool = (struct address_pool *)object;
    const struct doc *spec = decode_map(decoder, decode_need(decoder, root, "spec"));
    if (!spec)
        return;
    pool->block_size_bits = (uint8_t)decode_int(decoder, doc_get(spec, "blockSizeBits"), 0,
                                                BLOCK_SIZE_BITS_MAX, BLOCK_SIZE_BITS_DEFAULT);
    int mtu = decode_annotated_number(decoder, POOL_MTU, POOL_MTU_MIN, POOL_MTU_MAX, "none");
    pool->mtu = mtu > 0 ? (uint32_t)mtu : 0;

    const struct doc *list = decode_list(decoder, decode_need(decoder, spec, "subnets"));
    if (list && list->count == 0)
        decode_error(decoder, list, object_field_empty);
    struct pool_subnet *subnets = decode_alloc(decoder, list ? list->count : 0, sizeof(*subnets));
    if (!subnets)
        return;
    pool->subnets = subnets;
    doc_each(node, list) {
        decode_subnet(decoder, node, pool->block_size_bits, &subnets[pool->subnet_count]);
        check_families(decoder, node, &subnets[0], &subnets[pool->subnet_count++]);
    }
}

static bool pool_equal(const struct object *a, const struct object *b)
{
    const struct address_pool *left = to_address_pool(a), *right = to_address_pool(b);
    if (left->block_size_bits != right->block_size_bits || left->mtu != right->mtu ||
        left->subnet_count != right->subnet_count)
        return false;
    for (uint32_t i = 0; i < left->subnet_count; i++) {
        if (prefix_cmp(&left->subnets[i].ipv4, &right->subnets[i].ipv4) != 0 ||
            prefix_cmp(&left->subnets[i].ipv6, &right->subnets[i].ipv6) != 0)
            return false;
    }
    return true;
}

static void encode_pool_annotations(const struct object *object, struct json *json)
{
    uint32_t mtu = to_address_pool(object)->mtu;
    if (!mtu)
        return;
    json_begin_object(json, "annotations");
    json_stringf(json, POOL_MTU, "%u", mtu);
    json_end_object(json);
}

static void encode_pool(const struct object *object, struct json *json)
{
    const struct address_pool *pool = to_address_pool(object);
    json_begin_object(json, "spec");
    json_int(json, "blockSizeBits", pool->block_size_bits);
    json_begin_array(json, "subnets");
    for (uint32_t i = 0; i < pool->subnet_count; i++) {
        json_begin_object(json, NULL);
        encode_prefix(json, "ipv4", &pool->subnets[i].ipv4);
        encode_prefix(json, "ipv6", &pool->subnets[i].ipv6);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

const struct kind_row address_pool_kind = {
    .api_version = "coil.cybozu.com/v2",
    .name = "AddressPool",
    .identified = true,
    .size = sizeof(struct address_pool),
    .decode = decode_pool,
    .equal = pool_equal,
    .encode_metadata = encode_pool_annotations,
    .encode_rest = encode_pool,
};

static const char *keep_label(struct decoder *decoder, const char *name)
{
    const char *value = decode_label(decoder, name);
    return decode_keep(decoder, value ? value : "");
}

static void decode_block(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct address_block *block = (struct address_block *)object;
    const struct doc *ipv4 = doc_get(root, "ipv4"), *ipv6 = doc_get(root, "ipv6");
    if (!ipv4 && !ipv6)
        decode_error(decoder, root, block_family_missing);
    (void)decode_pods_prefix(decoder, ipv4, IP_V4, &block->ipv4);
    (void)decode_pods_prefix(decoder, ipv6, IP_V6, &block->ipv6);
    block->index =
        (uint32_t)decode_int(decoder, decode_need(decoder, root, "index"), 0, INT32_MAX, 0);

    block->pool = keep_label(decoder, POOL_LABEL);
    block->node = keep_label(decoder, NODE_LABEL);
    block->request = keep_label(decoder, REQUEST_LABEL);
    block->node_uid = keep_label(decoder, NODE_UID_LABEL);
    const char *reserved = decode_label(decoder, RESERVED_LABEL);
    block->reserved = text_equal(reserved, "true");
    if (reserved && !block->reserved && strcmp(reserved, "false") != 0)
        decode_warning(decoder, root, object_flag_replaced, .label = RESERVED_LABEL,
                       .taken = "false");
}

static bool block_equal(const struct object *a, const struct object *b)
{
    const struct address_block *left = to_address_block(a), *right = to_address_block(b);
    return left->index == right->index && prefix_cmp(&left->ipv4, &right->ipv4) == 0 &&
           prefix_cmp(&left->ipv6, &right->ipv6) == 0 && text_equal(left->pool, right->pool) &&
           text_equal(left->node, right->node) && text_equal(left->request, right->request) &&
           text_equal(left->node_uid, right->node_uid) && left->reserved == right->reserved;
}

static void encode_block_metadata(const struct object *object, struct json *json)
{
    const struct address_block *block = to_address_block(object);
    json_begin_object(json, "labels");
    encode_text(json, POOL_LABEL, block->pool);
    encode_text(json, NODE_LABEL, block->node);
    encode_text(json, REQUEST_LABEL, block->request);
    encode_text(json, NODE_UID_LABEL, block->node_uid);
    if (block->reserved)
        json_string(json, RESERVED_LABEL, "true");
    json_end_object(json);
}

static void encode_block(const struct object *object, struct json *json)
{
    const struct address_block *block = to_address_block(object);
    json_int(json, "index", block->index);
    encode_prefix(json, "ipv4", &block->ipv4);
    encode_prefix(json, "ipv6", &block->ipv6);
}

const struct kind_row address_block_kind = {
    .api_version = "coil.cybozu.com/v2",
    .name = "AddressBlock",
    .identified = true,
    .size = sizeof(struct address_block),
    .decode = decode_block,
    .equal = block_equal,
    .encode_metadata = encode_block_metadata,
    .encode_rest = encode_block,
};
