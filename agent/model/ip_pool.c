// SPDX-License-Identifier: Apache-2.0
/*
 * IPAddressPools: from a document, compared, and written back. The fields are MetalLB's, the rules
 * those of its webhook, which a manifest never went through. A range that can't be read refuses the
 * pool, so that its last good content stays in force: a pool that lacks a range would take away the
 * addresses of Services. Whether pools overlap is for the planner to say, who sees them all.
 *
 * What is counted in a pool's status is for the program that writes it. It makes no pool another
 * one, so that no plan begins anew for it, and garbage there refuses nothing.
 */
#include "model/ip_pool.h"

#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "format/quote.h"
#include "model/fields/labels.h"
#include "model/kind.h"

/* A part of the annotation that is longer is cut, and then no range. */
enum { RANGE_TEXT_MAX = 128, RESERVED_MAX = 1024 };

static bool decode_range(struct decoder *decoder, const struct doc *node, const char *text,
                         struct ip_range *range)
{
    char quoted[QUOTE_LEN], canonical[IP_RANGE_STRLEN];
    int r = ip_range_parse(text, range);
    if (r < 0) {
        decode_error(decoder, node, object_range_unreadable, .text = quote(text, quoted));
        return false;
    }
    if (ip_range_is_special(range)) {
        decode_error(decoder, node, object_range_special, .text = quote(text, quoted));
        return false;
    }
    if (r > 0) {
        decode_warning(decoder, node, object_host_bits, .text = quote(text, quoted),
                       .network = ip_range_str(range, canonical));
    }
    return true;
}

static DECODE_FIELD(decode_address, node)
{
    const char *text = decode_text(decoder, node);
    return text && decode_range(decoder, node, text, base);
}

static EQUAL_FIELD(range_equal)
{
    return ip_ranges_equal(a, 1, b, 1);
}

static ENCODE_FIELD(encode_range)
{
    char buffer[IP_RANGE_STRLEN];
    json_string(json, field->key, ip_range_str(base, buffer));
}

static const struct field_type range_type = { decode_address, range_equal, encode_range };
static const struct field range_items[] = { { .type = &range_type }, END(NULL) };

/* One part of a list with commas. Returns whether it is a range. */
static bool decode_part(struct decoder *decoder, const struct doc *node, const char *text,
                        size_t length, struct ip_range *range)
{
    char part[RANGE_TEXT_MAX] = "";
    memcpy(part, text, MIN(length, sizeof(part) - 1));
    return decode_range(decoder, node, part, range);
}

static size_t count_parts(const char *text)
{
    size_t count = 1;
    for (const char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ','))
        count++;
    return count;
}

static DECODE_FIELD(decode_reserved, node)
{
    struct ip_pool *pool = base;
    const char *text = decode_text(decoder, node);
    if (!text || !*text)
        return true;
    size_t count = count_parts(text);
    if (count > RESERVED_MAX) {
        decode_error(decoder, node, object_list_too_long, .max = RESERVED_MAX, .what = "ranges");
        return true;
    }
    struct ip_range *ranges = decode_alloc(decoder, count, sizeof(*ranges));
    if (!ranges)
        return true;
    pool->reserved = ranges;
    for (size_t length; count-- > 0; text += length + 1) {
        length = strcspn(text, ",");
        if (decode_part(decoder, node, text, length, &ranges[pool->reserved_count]))
            pool->reserved_count++;
    }
    return true;
}

static EQUAL_FIELD(reserved_equal)
{
    const struct ip_pool *left = a, *right = b;
    return ip_ranges_equal(left->reserved, left->reserved_count, right->reserved,
                           right->reserved_count);
}

static ENCODE_FIELD(encode_reserved)
{
    const struct ip_pool *pool = base;
    char buffer[IP_RANGE_STRLEN];
    AUTOTEXT struct text reserved = { 0 };
    for (uint32_t i = 0; i < pool->reserved_count; i++)
        text_addf(&reserved, "%s%s", i ? "," : "", ip_range_str(&pool->reserved[i], buffer));
    if (pool->reserved_count)
        json_string(json, field->key, text_str(&reserved));
    json->out->failed |= reserved.failed;
}

static const struct field_type reserved_type = { decode_reserved, reserved_equal, encode_reserved };

static bool has_some(const struct ip_pool *pool, const struct ip_range *range)
{
    for (uint32_t i = 0; i < pool->range_count; i++) {
        if (ip_range_overlaps(&pool->ranges[i], range))
            return true;
    }
    return false;
}

/* A slip of a digit would leave to Services what somebody else has. */
static void check_reserved(struct decoder *decoder, const struct ip_pool *pool)
{
    char buffer[IP_RANGE_STRLEN];
    for (uint32_t i = 0; pool->range_count && i < pool->reserved_count; i++) {
        if (!has_some(pool, &pool->reserved[i]))
            decode_warning(decoder, decode_annotation(decoder, IP_POOL_RESERVED),
                           pool_reserves_nothing,
                           .range = ip_range_str(&pool->reserved[i], buffer));
    }
}

static int64_t decode_count(const struct decoder *decoder, const struct doc *status,
                            const char *key)
{
    AUTOFAULTS struct faults garbage = { 0 };
    int64_t count = -1;
    (void)doc_int(decoder->document, doc_get(status, key), 0, INT64_MAX, &count, &garbage);
    return count;
}

static void decode_counts(const struct decoder *decoder, const struct doc *status,
                          struct ip_pool_counts *counts)
{
    counts->assigned[0] = decode_count(decoder, status, "assignedIPv4");
    counts->assigned[1] = decode_count(decoder, status, "assignedIPv6");
    counts->available[0] = decode_count(decoder, status, "availableIPv4");
    counts->available[1] = decode_count(decoder, status, "availableIPv6");
}

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct ip_pool *pool = (struct ip_pool *)object;
    check_reserved(decoder, pool);
    decode_counts(decoder, doc_get(root, "status"), &pool->counts);
}

static const struct field labels[] = {
    { NULL, &field_labels, ITEMS(struct ip_pool, labels, label_count) },
    END(NULL),
};

static const struct field annotations[] = {
    { IP_POOL_RESERVED, &reserved_type },
    END(NULL),
};

#define LIST(key, list, item_fields)                                                           \
    {                                                                                          \
        key, &field_list, ITEMS(struct ip_pool, list.items, list.count), .fields = item_fields \
    }

static const struct field allocation[] = {
    { "priority", &field_number, MEMBER(struct ip_pool, priority), .max = INT32_MAX },
    LIST("namespaces", namespaces, text_items),
    LIST("namespaceSelectors", namespace_selectors, selector_items),
    LIST("serviceSelectors", service_selectors, selector_items),
    END(""),
};

static const struct field spec[] = {
    { "addresses", &field_list, ITEMS(struct ip_pool, ranges, range_count), .fields = range_items,
      .required = true },
    { "autoAssign", &field_flag, MEMBER(struct ip_pool, auto_assign), .fallback = true },
    { "avoidBuggyIPs", &field_flag, MEMBER(struct ip_pool, avoid_buggy) },
    { "serviceAllocation", &field_map, MEMBER(struct ip_pool, chosen), .fields = allocation },
    END(""),
};

static const struct field fields[] = {
    { "spec", &field_map, .fields = spec, .required = true },
    END("apiVersion kind metadata status"),
};

const struct kind_row ip_pool_kind = {
    .api_version = "metallb.io/v1beta1",
    .name = "IPAddressPool",
    .namespaced = true,
    .size = sizeof(struct ip_pool),
    .labels = labels,
    .annotations = annotations,
    .fields = fields,
    .decode = decode,
};
