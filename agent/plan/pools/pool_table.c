// SPDX-License-Identifier: Apache-2.0
/*
 * The table of pools; see pool_table.h. Ranges are added pool by pool, the oldest first, each
 * reduced to addresses without a pool, so that the spans never overlap and a lookup is one binary
 * search. The rules of serviceAllocation are MetalLB's: if it has namespaces or namespace
 * selectors, one must match, and if it has Service selectors, one must match.
 */
#include "plan/pools/pool_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/pools.h"
#include "model/pod.h"
#include "plan/object_fault.h"

static int pool_age_cmp(const void *a, const void *b)
{
    const struct object *const *left = a, *const *right = b;
    return object_precedence_cmp(*left, *right);
}

/* The first span that ends at the address or after it. */
static size_t span_from(const struct pool_table *table, const struct ip *ip)
{
    size_t low = 0, high = table->spans.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ip_cmp(&table->spans.items[middle].range.last, ip) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert_span(struct pool_table *table, size_t at, const struct ip_range *range,
                       uint32_t pool)
{
    if (vec_reserve(&table->spans, 1) < 0)
        return -ENOMEM;
    struct pool_span *place = &table->spans.items[at];
    memmove(place + 1, place, (table->spans.count - at) * sizeof(*place));
    *place = (struct pool_span){ .range = *range, .pool = pool, .next = range->first };
    table->spans.count++;
    uint64_t *size = &table->pools.items[pool].size[family_index(range->first.family)];
    uint64_t more = ip_range_size(range);
    *size = *size > UINT64_MAX - more ? UINT64_MAX : *size + more;
    return 0;
}

static void overlap_fault(const struct pool_table *table, uint32_t pool,
                          const struct pool_span *other, const struct ip_range *range,
                          struct faults *faults)
{
    const struct object *object = &table->pools.items[pool].object->object;
    const struct object *owner = &table->pools.items[other->pool].object->object;
    struct ip_range both = *range;
    char text[IP_RANGE_STRLEN];
    if (ip_cmp(&both.first, &other->range.first) < 0)
        both.first = other->range.first;
    if (ip_cmp(&both.last, &other->range.last) > 0)
        both.last = other->range.last;
    AUTOFREE char *name = text_format("%s/%s", owner->namespace, owner->name);
    faults->incomplete |= !name;
    object_raise(faults, object, pool_overlaps_older, .range = ip_range_str(&both, text),
                 .pool = name);
}

/* Adds the part of a range that no span has yet. */
static int add_range(struct pool_table *table, const struct ip_range *whole, uint32_t pool,
                     struct faults *faults)
{
    struct ip_range rest = *whole;
    for (size_t at = span_from(table, &rest.first);; at++) {
        const struct pool_span *span = at < table->spans.count ? &table->spans.items[at] : NULL;
        if (!span || !ip_range_overlaps(&span->range, &rest))
            return insert_span(table, at, &rest, pool);
        const struct ip_range taken = span->range;
        if (span->pool != pool)
            overlap_fault(table, pool, span, &rest, faults);
        struct ip_range before = { .first = rest.first };
        if (ip_cmp(&rest.first, &taken.first) < 0 && ip_before(&taken.first, &before.last)) {
            if (insert_span(table, at++, &before, pool) < 0)
                return -ENOMEM;
        }
        if (ip_cmp(&taken.last, &rest.last) >= 0 || !ip_next(&taken.last, &rest.first))
            return 0;
    }
}

int pool_table_of(const object_list *pools, struct pool_table *ret_table, struct faults *faults)
{
    CLEANUP(pool_table_done) struct pool_table table = { 0 };
    AUTOVEC object_list objects = { 0 };
    int r = vec_append(&objects, pools);
    if (r < 0)
        return r;
    vec_sort(&objects, pool_age_cmp);
    vec_each(const struct object *, object, &objects) {
        const struct pool pool = { .object = to_ip_pool(*object) };
        uint32_t index = (uint32_t)table.pools.count;
        if (vec_push(&table.pools, pool) < 0)
            return -ENOMEM;
        for (uint32_t i = 0; i < pool.object->range_count && r == 0; i++)
            r = add_range(&table, &pool.object->ranges[i], index, faults);
        if (r < 0)
            return r;
    }
    *ret_table = TAKE_STRUCT(table);
    return 0;
}

int pool_table_make(const struct store *store, struct pool_table *ret_table, struct faults *faults)
{
    AUTOVEC object_list objects = { 0 };
    int r = store_list(store, KIND_IP_POOL, &objects);
    return r < 0 ? r : pool_table_of(&objects, ret_table, faults);
}

static int pool_find_cmp(const void *key, const void *element)
{
    return object_precedence_cmp(key, &((const struct pool *)element)->object->object);
}

const struct pool *pool_table_find(const struct pool_table *table, const struct object *object)
{
    return table->pools.count ? bsearch(object, table->pools.items, table->pools.count,
                                        sizeof(*table->pools.items), pool_find_cmp)
                              : NULL;
}

void pool_table_rewind(struct pool_table *table)
{
    vec_each(struct pool_span, span, &table->spans) {
        span->next = span->range.first;
        span->full = false;
    }
}

void pool_table_free(struct pool_table *table, const struct ip *ip)
{
    size_t at = span_from(table, ip);
    struct pool_span *span = at < table->spans.count ? &table->spans.items[at] : NULL;
    if (!span || !ip_range_contains(&span->range, ip))
        return;
    if (ip_cmp(ip, &span->next) < 0 || span->full)
        span->next = *ip;
    span->full = false;
}

void pool_table_done(struct pool_table *table)
{
    vec_done(&table->pools);
    vec_done(&table->spans);
}

const struct pool *pool_at(const struct pool_table *table, const struct ip *ip)
{
    size_t at = span_from(table, ip);
    if (at == table->spans.count || !ip_range_contains(&table->spans.items[at].range, ip))
        return NULL;
    return &table->pools.items[table->spans.items[at].pool];
}

bool pool_reserves(const struct pool *pool, const struct ip *ip)
{
    for (uint32_t i = 0; i < pool->object->reserved_count; i++) {
        if (ip_range_contains(&pool->object->reserved[i], ip))
            return true;
    }
    return false;
}

static int range_cmp(const void *a, const void *b)
{
    const struct ip_range *left = a, *right = b;
    return ip_cmp(&left->first, &right->first);
}

/* The number of IPv4 addresses up to this one that end with .0 or .255. */
static uint64_t avoidable_until(const struct ip *ip)
{
    uint64_t before = (uint64_t)ip->bytes[0] << 16 | ip->bytes[1] << 8 | ip->bytes[2];
    return 2 * before + 1 + (ip->bytes[3] == 255);
}

/* The number of addresses of a range of the pool that it avoids. */
static uint64_t avoided_in(const struct pool *pool, const struct ip_range *range)
{
    if (!pool->object->avoid_buggy || range->first.family != IP_V4)
        return 0;
    return avoidable_until(&range->last) - avoidable_until(&range->first) +
           pool_avoids(pool, &range->first);
}

uint64_t pool_avoided_count(const struct pool_table *table, const struct pool *pool)
{
    uint64_t count = 0;
    vec_each(const struct pool_span, span, &table->spans) {
        if (&table->pools.items[span->pool] == pool)
            count += avoided_in(pool, &span->range);
    }
    return count;
}

/* Adds the number of addresses of a range that belong to the pool and may be allocated. */
static void count_own(const struct pool_table *table, const struct pool *pool,
                      const struct ip_range *range, uint64_t *count)
{
    for (size_t at = span_from(table, &range->first); at < table->spans.count; at++) {
        const struct pool_span *span = &table->spans.items[at];
        struct ip_range both = span->range;
        if (!ip_range_overlaps(&both, range))
            break;
        if (&table->pools.items[span->pool] != pool)
            continue;
        both.first = ip_cmp(&both.first, &range->first) < 0 ? range->first : both.first;
        both.last = ip_cmp(&both.last, &range->last) > 0 ? range->last : both.last;
        uint64_t more = ip_range_size(&both) - avoided_in(pool, &both);
        *count = *count > UINT64_MAX - more ? UINT64_MAX : *count + more;
    }
}

/* Ranges may overlap: each is reduced to the part after the previous ones. */
int pool_reserved_count(const struct pool_table *table, const struct pool *pool,
                        uint64_t ret_count[static 2])
{
    AUTOVEC ip_range_list ranges = { 0 };
    const struct ip *until = NULL;
    for (uint32_t i = 0; i < pool->object->reserved_count; i++) {
        if (vec_push(&ranges, pool->object->reserved[i]) < 0)
            return -ENOMEM;
    }
    vec_sort(&ranges, range_cmp);
    vec_each(const struct ip_range, range, &ranges) {
        struct ip_range rest = *range;
        bool covered = until && ip_cmp(until, &rest.last) >= 0;
        if (!covered && until && ip_cmp(until, &rest.first) >= 0)
            covered = !ip_next(until, &rest.first);
        if (covered)
            continue;
        until = &range->last;
        count_own(table, pool, &rest, &ret_count[family_index((enum ip_family)rest.first.family)]);
    }
    return 0;
}

bool pool_avoids(const struct pool *pool, const struct ip *ip)
{
    uint8_t last = ip->bytes[3];
    return pool->object->avoid_buggy && ip->family == IP_V4 && (last == 0 || last == 255);
}

static bool is_of_namespace(const struct store *store, const struct ip_pool *pool, const char *name)
{
    if (pool->namespaces.count == 0 && pool->namespace_selectors.count == 0)
        return true;
    if (name_list_has(&pool->namespaces, name))
        return true;
    const struct object *object = store_get(store, KIND_NAMESPACE, "", name);
    const struct namespace *namespace = object ? to_namespace(object) : NULL;
    return object_selectors_match(&pool->namespace_selectors, namespace ? namespace->labels : NULL,
                                  namespace ? namespace->label_count : 0);
}

bool pool_allows(const struct store *store, const struct pool *pool, const struct service *service)
{
    const struct ip_pool *object = pool->object;
    if (object->service_selectors.count &&
        !object_selectors_match(&object->service_selectors, service->labels, service->label_count))
        return false;
    return is_of_namespace(store, object, service->object.namespace);
}

/* Lower first; 0 is after all others. */
static uint32_t rank(const struct ip_pool *pool)
{
    return pool->priority ? pool->priority : UINT32_MAX;
}

struct ordering {
    const struct pool_table *table;
    size_t family;
};

static int preference_cmp(const void *a, const void *b, void *context)
{
    const struct ordering *ordering = context;
    const struct pool *left = &ordering->table->pools.items[*(const uint32_t *)a];
    const struct pool *right = &ordering->table->pools.items[*(const uint32_t *)b];
    int r = CMP(right->object->chosen, left->object->chosen);
    r = r ? r : CMP(rank(left->object), rank(right->object));
    r = r ? r : CMP(left->size[ordering->family], right->size[ordering->family]);
    return r ? r : object_key_cmp(&left->object->object, &right->object->object);
}

int pool_order_for(const struct store *store, const struct pool_table *table,
                   const struct service *service, enum ip_family family, pool_order *ret_order)
{
    struct ordering ordering = { table, family_index(family) };
    const char *wished = service->request.pool;
    for (uint32_t i = 0; i < table->pools.count; i++) {
        const struct pool *pool = &table->pools.items[i];
        bool meant =
            wished ? strcmp(pool->object->object.name, wished) == 0 : pool->object->auto_assign;
        if (!meant || pool->size[ordering.family] == 0 || !pool_allows(store, pool, service))
            continue;
        if (vec_push(ret_order, i) < 0)
            return -ENOMEM;
    }
    if (ret_order->count > 1)
        qsort_r(ret_order->items, ret_order->count, sizeof(*ret_order->items), preference_cmp,
                &ordering);
    return 0;
}
