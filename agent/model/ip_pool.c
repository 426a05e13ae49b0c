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
#include "model/fields/decode.h"
#include "model/fields/decode_lists.h"
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
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

static void decode_addresses(struct decoder *decoder, const struct doc *spec, struct ip_pool *pool)
{
    const struct doc *list = decode_list(decoder, decode_need(decoder, spec, "addresses"));
    if (list && list->count == 0)
        decode_error(decoder, list, object_field_empty);
    struct ip_range *ranges = decode_alloc(decoder, list ? list->count : 0, sizeof(*ranges));
    if (!ranges)
        return;
    pool->ranges = ranges;
    doc_each(node, list) {
        const char *text = decode_text(decoder, node);
        if (text && decode_range(decoder, node, text, &ranges[pool->range_count]))
            pool->range_count++;
    }
}

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

static void decode_reserved(struct decoder *decoder, struct ip_pool *pool)
{
    const struct doc *node = decode_annotation(decoder, IP_POOL_RESERVED);
    const char *text = decode_text(decoder, node);
    if (!text || !*text)
        return;
    size_t count = count_parts(text);
    if (count > RESERVED_MAX) {
        decode_error(decoder, node, object_list_too_long, .max = RESERVED_MAX, .what = "ranges");
        return;
    }
    struct ip_range *ranges = decode_alloc(decoder, count, sizeof(*ranges));
    if (!ranges)
        return;
    pool->reserved = ranges;
    for (size_t length; count-- > 0; text += length + 1) {
        length = strcspn(text, ",");
        if (decode_part(decoder, node, text, length, &ranges[pool->reserved_count]))
            pool->reserved_count++;
    }
}

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

static void decode_allocation(struct decoder *decoder, const struct doc *spec, struct ip_pool *pool)
{
    const struct doc *allocation = decode_map(decoder, doc_get(spec, "serviceAllocation"));
    if (!allocation)
        return;
    pool->chosen = true;
    pool->priority =
        (uint32_t)decode_int(decoder, doc_get(allocation, "priority"), 0, INT32_MAX, 0);
    pool->namespaces = decode_names(decoder, doc_get(allocation, "namespaces"));
    pool->namespace_selectors =
        decode_selectors(decoder, doc_get(allocation, "namespaceSelectors"));
    pool->service_selectors = decode_selectors(decoder, doc_get(allocation, "serviceSelectors"));
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
    pool->labels = decode_labels(decoder, &pool->label_count);
    decode_reserved(decoder, pool);
    decode_counts(decoder, doc_get(root, "status"), &pool->counts);
    const struct doc *spec = decode_map(decoder, decode_need(decoder, root, "spec"));
    if (!spec)
        return;
    decode_addresses(decoder, spec, pool);
    check_reserved(decoder, pool);
    pool->auto_assign = decode_bool(decoder, doc_get(spec, "autoAssign"), true);
    pool->avoid_buggy = decode_bool(decoder, doc_get(spec, "avoidBuggyIPs"), false);
    decode_allocation(decoder, spec, pool);
}

static bool equal(const struct object *a, const struct object *b)
{
    const struct ip_pool *left = to_ip_pool(a), *right = to_ip_pool(b);
    return left->auto_assign == right->auto_assign && left->avoid_buggy == right->avoid_buggy &&
           left->chosen == right->chosen && left->priority == right->priority &&
           ip_ranges_equal(left->ranges, left->range_count, right->ranges, right->range_count) &&
           ip_ranges_equal(left->reserved, left->reserved_count, right->reserved,
                           right->reserved_count) &&
           names_equal(&left->namespaces, &right->namespaces) &&
           selectors_equal(&left->namespace_selectors, &right->namespace_selectors) &&
           selectors_equal(&left->service_selectors, &right->service_selectors) &&
           labels_equal(left->labels, left->label_count, right->labels, right->label_count);
}

static void encode_metadata(const struct object *object, struct json *json)
{
    const struct ip_pool *pool = to_ip_pool(object);
    if (pool->label_count) {
        json_begin_object(json, "labels");
        encode_labels(json, pool->labels, pool->label_count);
        json_end_object(json);
    }
    if (pool->reserved_count == 0)
        return;
    char buffer[IP_RANGE_STRLEN];
    AUTOTEXT struct text reserved = { 0 };
    for (uint32_t i = 0; i < pool->reserved_count; i++)
        text_addf(&reserved, "%s%s", i ? "," : "", ip_range_str(&pool->reserved[i], buffer));
    json_begin_object(json, "annotations");
    json_string(json, IP_POOL_RESERVED, text_str(&reserved));
    json_end_object(json);
    json->out->failed |= reserved.failed;
}

static void encode_rest(const struct object *object, struct json *json)
{
    const struct ip_pool *pool = to_ip_pool(object);
    char buffer[IP_RANGE_STRLEN];
    json_begin_object(json, "spec");
    json_begin_array(json, "addresses");
    for (uint32_t i = 0; i < pool->range_count; i++)
        json_string(json, NULL, ip_range_str(&pool->ranges[i], buffer));
    json_end_array(json);
    if (!pool->auto_assign)
        json_bool(json, "autoAssign", false);
    encode_flag(json, "avoidBuggyIPs", pool->avoid_buggy);
    if (pool->chosen) {
        json_begin_object(json, "serviceAllocation");
        encode_number(json, "priority", pool->priority);
        encode_names(json, "namespaces", &pool->namespaces);
        encode_selectors(json, "namespaceSelectors", &pool->namespace_selectors);
        encode_selectors(json, "serviceSelectors", &pool->service_selectors);
        json_end_object(json);
    }
    json_end_object(json);
}

const struct kind_row ip_pool_kind = {
    .api_version = "metallb.io/v1beta1",
    .name = "IPAddressPool",
    .namespaced = true,
    .size = sizeof(struct ip_pool),
    .decode = decode,
    .equal = equal,
    .encode_metadata = encode_metadata,
    .encode_rest = encode_rest,
};
