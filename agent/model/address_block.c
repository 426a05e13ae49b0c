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

#include "model/fields/labels.h"
#include "model/kind.h"

enum { BLOCK_SIZE_BITS_DEFAULT = 5, BLOCK_SIZE_BITS_MAX = 128 };

/* One that pods can have. */
static DECODE_FIELD(decode_pods_prefix, node)
{
    struct prefix *prefix = field_member(field, base);
    if (decode_prefix(decoder, node, (enum ip_family)field->min, prefix) &&
        ip_is_special(&prefix->ip))
        decode_error(decoder, node, block_network_special);
    return true;
}

#define PODS_PREFIX(name, family_, member)                                          \
    {                                                                               \
        name, &field_prefix, member, .min = (family_), .decode = decode_pods_prefix \
    }

/* The bits below the prefix: its room for addresses. */
static int host_bits(const struct prefix *prefix)
{
    return ip_bits(&prefix->ip) - prefix->length;
}

static bool is_good(const struct prefix *prefix)
{
    return prefix->ip.family != IP_NONE && !ip_is_special(&prefix->ip);
}

static void check_width(struct decoder *decoder, const struct doc *node,
                        const struct prefix *prefix, int block_size_bits)
{
    char buffer[PREFIX_STRLEN];
    if (is_good(prefix) && host_bits(prefix) < block_size_bits) {
        decode_error(decoder, node, block_too_wide, .network = prefix_str(prefix, buffer),
                     .bits = block_size_bits);
    }
}

static void need_family(struct decoder *decoder, const struct doc *node)
{
    if (!doc_get(node, "ipv4") && !doc_get(node, "ipv6"))
        decode_error(decoder, node, block_family_missing);
}

static void check_subnet(struct decoder *decoder, const struct doc *node, int block_size_bits,
                         const struct pool_subnet *subnet)
{
    need_family(decoder, node);
    check_width(decoder, doc_get(node, "ipv4"), &subnet->ipv4, block_size_bits);
    check_width(decoder, doc_get(node, "ipv6"), &subnet->ipv6, block_size_bits);
    if (is_good(&subnet->ipv4) && is_good(&subnet->ipv6) &&
        host_bits(&subnet->ipv4) != host_bits(&subnet->ipv6))
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

static DECODE_FIELD(decode_subnets, list)
{
    const struct address_pool *pool = base;
    (void)field_list.decode(decoder, list, field, base);
    doc_each(node, pool->subnet_count ? list : NULL) {
        const struct pool_subnet *subnet = &pool->subnets[node->index];
        if (node->type != DOC_MAP)
            continue;
        check_subnet(decoder, node, pool->block_size_bits, subnet);
        check_families(decoder, node, pool->subnets, subnet);
    }
    return true;
}

static const struct field pool_annotations[] = {
    { POOL_MTU, &field_annotated_number, MEMBER(struct address_pool, mtu), .min = POOL_MTU_MIN,
      .max = POOL_MTU_MAX, .words = (const char *const[]){ "none" } },
    END(NULL),
};

static const struct field subnet_fields[] = {
    PODS_PREFIX("ipv4", IP_V4, MEMBER(struct pool_subnet, ipv4)),
    PODS_PREFIX("ipv6", IP_V6, MEMBER(struct pool_subnet, ipv6)),
    END(""),
};

static const struct field pool_spec[] = {
    { "blockSizeBits", &field_number, MEMBER(struct address_pool, block_size_bits),
      .max = BLOCK_SIZE_BITS_MAX, .fallback = BLOCK_SIZE_BITS_DEFAULT, .written = true },
    { "subnets", &field_list, ITEMS(struct address_pool, subnets, subnet_count),
      .fields = subnet_fields, .required = true, .decode = decode_subnets },
    END(""),
};

static const struct field pool_fields[] = {
    { "spec", &field_map, .fields = pool_spec, .required = true },
    END("apiVersion kind metadata status"),
};

const struct kind_row address_pool_kind = {
    .api_version = "coil.cybozu.com/v2",
    .name = "AddressPool",
    .identified = true,
    .size = sizeof(struct address_pool),
    .annotations = pool_annotations,
    .fields = pool_fields,
};

static DECODE_FIELD(decode_reserved, node)
{
    struct address_block *block = base;
    const char *reserved = decode_label(decoder, field->key);
    block->reserved = reserved && strcmp(reserved, "true") == 0;
    if (reserved && !block->reserved && strcmp(reserved, "false") != 0)
        decode_warning(decoder, decoder->document->root, object_flag_replaced, .label = field->key,
                       .taken = "false");
    return true;
}

static ENCODE_FIELD(encode_reserved)
{
    const struct address_block *block = base;
    if (block->reserved)
        json_string(json, field->key, "true");
}

static const struct field_type reserved_label = { decode_reserved, field_numbers_equal,
                                                  encode_reserved };

static const struct field block_labels[] = {
    { POOL_LABEL, &field_label, MEMBER(struct address_block, pool) },
    { NODE_LABEL, &field_label, MEMBER(struct address_block, node) },
    { REQUEST_LABEL, &field_label, MEMBER(struct address_block, request) },
    { NODE_UID_LABEL, &field_label, MEMBER(struct address_block, node_uid) },
    { RESERVED_LABEL, &reserved_label, MEMBER(struct address_block, reserved) },
    END(NULL),
};

static const struct field block_fields[] = {
    { "index", &field_number, MEMBER(struct address_block, index), .max = INT32_MAX,
      .required = true },
    PODS_PREFIX("ipv4", IP_V4, MEMBER(struct address_block, ipv4)),
    PODS_PREFIX("ipv6", IP_V6, MEMBER(struct address_block, ipv6)),
    END("apiVersion kind metadata status"),
};

static void decode_block(struct decoder *decoder, const struct doc *root, struct object *object)
{
    (void)object;
    need_family(decoder, root);
}

const struct kind_row address_block_kind = {
    .api_version = "coil.cybozu.com/v2",
    .name = "AddressBlock",
    .identified = true,
    .size = sizeof(struct address_block),
    .labels = block_labels,
    .fields = block_fields,
    .decode = decode_block,
};
