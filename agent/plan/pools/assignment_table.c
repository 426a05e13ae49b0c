// SPDX-License-Identifier: Apache-2.0
/*
 * The tables of assignments, and queries of them; see assignment.h. assignment_update.c changes
 * them. A Service is a row, an address that it has is a use, and a shared address has several
 * adjacent uses.
 */
#include "plan/pools/assignment_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/pools.h"
#include "faults/raise.h"

/* The faults of pending rows have the address, and the object concerned, as arguments. */
static const struct {
    const char *name, *text;
    const struct fault_type *type; /* NULL: not reported */
} reasons[] = {
    [LACK_NOTHING] = { "assigned", "assigned", NULL },
    [LACK_UNREADABLE] = { "wish-unreadable", "the addresses that it asks for can't be read",
                          &fault_type_service_pending_wish_unreadable },
    [LACK_UNKNOWN_POOL] = { "unknown-pool", "the pool that it asks for does not exist",
                            &fault_type_service_pending_unknown_pool },
    [LACK_NO_POOL] = { "no-pool", "no pool of this family is for it",
                       &fault_type_service_pending_no_pool },
    [LACK_EXHAUSTED] = { "exhausted", "every address of its pools is in use",
                         &fault_type_service_pending_exhausted },
    [LACK_OUTSIDE] = { "outside-pools", "the address is of no pool",
                       &fault_type_service_pending_outside_pools },
    [LACK_OTHER_POOL] = { "other-pool", "the address is not of the pool that it asks for",
                          &fault_type_service_pending_other_pool },
    [LACK_FORBIDDEN] = { "pool-forbidden", "the pool is not for this Service",
                         &fault_type_service_pending_pool_forbidden },
    [LACK_AVOIDED] = { "avoided",
                       "avoidBuggyIPs of the pool: no addresses that end with .0 and .255",
                       &fault_type_service_pending_avoided },
    [LACK_TAKEN] = { "taken", "the address is another's", &fault_type_service_pending_taken },
    [LACK_BACKENDS] = { "other-backends",
                        "with externalTrafficPolicy Local, Services share an address only if their "
                        "policies and selectors are equal",
                        &fault_type_service_pending_other_backends },
    [LACK_OTHER_FAMILY] = { "other-family", "the Service is not of the address's family",
                            &fault_type_service_pending_other_family },
    [LACK_PARTNER] = { "partner-missing", "RequireDualStack, and the other family has no address",
                       &fault_type_service_pending_partner_missing },
    [LACK_RECORD] = { "record-unreadable",
                      "the record of addresses can't be read, and none is given until it is "
                      "decided who has which",
                      &fault_type_service_pending_record_unreadable },
    [LACK_FOREIGN] = { "foreign-status", "its status is another assigner's, and is left as it is",
                       &fault_type_service_status_foreign },
    [LACK_NOT_WISHED] = { "not-wished", "others are asked for, or fewer", NULL },
};
_Static_assert(ARRAY_SIZE(reasons) == LACK_REASONS, "a reason has no words");

const char *lack_reason_name(enum lack_reason reason)
{
    return reasons[reason].name;
}

const char *lack_reason_text(enum lack_reason reason)
{
    return reasons[reason].text;
}

const char *lack_reason_remedy(enum lack_reason reason)
{
    return reasons[reason].type ? reasons[reason].type->remedy : NULL;
}

static int row_cmp(const void *a, const void *b)
{
    const struct assignment *const *left = a, *const *right = b;
    int r = strcmp((*left)->namespace, (*right)->namespace);
    return r ? r : strcmp((*left)->name, (*right)->name);
}

static int use_cmp(const void *a, const void *b)
{
    const struct use *left = a, *right = b;
    int r = ip_cmp(&left->ip, &right->ip);
    if (r || !left->row || !right->row)
        return r ? r : CMP(left->row != NULL, right->row != NULL);
    return row_cmp(&left->row, &right->row);
}

static int shared_cmp(const void *a, const void *b)
{
    const struct shared_use *left = a, *right = b;
    int r = left->key && right->key ? strcmp(left->key, right->key)
                                    : CMP(left->key != NULL, right->key != NULL);
    return r ? r : use_cmp(&left->use, &right->use);
}

void assignments_init(struct assignments *assignments)
{
    *assignments = (struct assignments){
        .rows = SORTED(struct assignment *, row_cmp),
        .uses = SORTED(struct use, use_cmp),
        .shared = SORTED(struct shared_use, shared_cmp),
        .pending = SORTED(struct assignment *, row_cmp),
        .uneven = SORTED(struct assignment *, row_cmp),
    };
    rests_init(&assignments->rests);
}

void lacks_done(lack_list *lacks)
{
    vec_each(struct lack, lack, lacks)
        free(lack->of);
    vec_done(lacks);
}

void assignment_free(struct assignment *row)
{
    if (!row)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(row->lacks); i++)
        free(row->lacks[i].of);
    free(row->uneven.of);
    lacks_done(&row->lost);
    vec_done(&row->ips);
    free(row->sharing_key);
    free(row->namespace);
    free(row->name);
    free(row);
}

void assignments_done(struct assignments *assignments)
{
    sorted_each(struct assignment *, row, &assignments->rows)
        assignment_free(*row);
    sorted_done(&assignments->rows);
    sorted_done(&assignments->uses);
    sorted_done(&assignments->shared);
    sorted_done(&assignments->pending);
    sorted_done(&assignments->uneven);
    rests_done(&assignments->rests);
}

struct assignment *assignment_row(const struct assignments *assignments, const char *namespace,
                                  const char *name)
{
    struct assignment key = { .namespace = (char *)namespace, .name = (char *)name };
    struct assignment *wanted = &key, **found = sorted_find(&assignments->rows, &wanted);
    return found ? *found : NULL;
}

const struct assignment *assignment_of(const struct assignments *assignments, const char *namespace,
                                       const char *name)
{
    return assignment_row(assignments, namespace, name);
}

int assignment_row_make(struct assignments *assignments, const char *namespace, const char *name,
                        struct assignment **ret_row)
{
    *ret_row = assignment_row(assignments, namespace, name);
    if (*ret_row)
        return 0;
    CLEANUP(assignment_freep) struct assignment *row = calloc(1, sizeof(*row));
    if (!row)
        return -ENOMEM;
    row->namespace = strdup(namespace);
    row->name = strdup(name);
    if (!row->namespace || !row->name || sorted_put(&assignments->rows, &row) < 0)
        return -ENOMEM;
    *ret_row = TAKE_PTR(row);
    return 0;
}

int assignments_hold(struct assignments *assignments, const char *namespace, const char *name,
                     const struct ip *ip)
{
    struct assignment *row;
    int r = assignment_row_make(assignments, namespace, name, &row);
    if (r < 0)
        return r;
    vec_each(const struct ip, held, &row->ips) {
        if (ip_equal(held, ip))
            return 0;
    }
    assignments->stale = true;
    return vec_push(&row->ips, *ip);
}

size_t use_from(const struct assignments *assignments, const struct ip *ip)
{
    return sorted_lower_bound(&assignments->uses, &(struct use){ .ip = *ip });
}

const struct use *use_at(const struct assignments *assignments, size_t at, const struct ip *ip)
{
    const struct sorted *uses = &assignments->uses;
    const struct use *use = at < uses->count ? sorted_at(uses, at) : NULL;
    return use && ip_equal(&use->ip, ip) ? use : NULL;
}

bool is_used(const struct assignments *assignments, const struct ip *ip)
{
    return use_at(assignments, use_from(assignments, ip), ip);
}

int use_put(struct assignments *assignments, struct assignment *row, const struct ip *ip)
{
    const struct shared_use shared = { row->sharing_key, { *ip, row } };
    int r = sorted_put(&assignments->uses, &shared.use);
    return r == 0 && shared.key ? sorted_put(&assignments->shared, &shared) : r;
}

void use_remove(struct assignments *assignments, struct assignment *row, const struct ip *ip)
{
    const struct shared_use shared = { row->sharing_key, { *ip, row } };
    sorted_remove(&assignments->uses, &shared.use);
    if (shared.key)
        sorted_remove(&assignments->shared, &shared);
}

int assignments_rest(struct assignments *assignments, const struct ip *ip, int64_t freed_ms,
                     const char *namespace, const char *name)
{
    return rest_put(&assignments->rests, ip, freed_ms, namespace, name);
}

bool assignment_is_for(const char *load_balancer_class, const struct service *service)
{
    const char *named = service->load_balancer_class ? service->load_balancer_class : "";
    return service->type == SERVICE_LOAD_BALANCER && strcmp(named, load_balancer_class) == 0;
}

/* Counts an address of the pool that is in use, or in cooldown. */
static void count_one(const struct pool *pool, const struct ip *ip, bool used, struct pool_use *use,
                      uint64_t *avoided)
{
    size_t family = family_index((enum ip_family)ip->family);
    bool reserved = !pool_avoids(pool, ip) && pool_reserves(pool, ip);
    *avoided -= pool_avoids(pool, ip);
    use->used[family] += used;
    use->resting[family] += !used && !reserved;
    if (used && reserved && use->reserved[family] != UINT64_MAX)
        use->reserved[family]--;
}

/* Counts each address of a range that is in use. */
static void count_span(const struct assignments *assignments, const struct pool *pool,
                       const struct ip_range *range, struct pool_use *use, uint64_t *avoided)
{
    const struct ip *last = NULL;
    for (size_t i = use_from(assignments, &range->first); i < assignments->uses.count; i++) {
        const struct ip *ip = &((const struct use *)sorted_at(&assignments->uses, i))->ip;
        if (ip_cmp(ip, &range->last) > 0)
            return;
        if (!last || !ip_equal(last, ip))
            count_one(pool, ip, true, use, avoided);
        last = ip;
    }
}

int pool_use_count(const struct assignments *assignments, const struct pool_table *table,
                   const struct pool *pool, struct pool_use *ret_use)
{
    uint64_t avoided = pool_avoided_count(table, pool);
    *ret_use = (struct pool_use){ .size = { pool->size[0], pool->size[1] } };
    int r = pool_reserved_count(table, pool, ret_use->reserved);
    vec_each(const struct pool_span, span, &table->spans) {
        if (&table->pools.items[span->pool] == pool)
            count_span(assignments, pool, &span->range, ret_use, &avoided);
    }
    for (size_t i = 0; i < rests_count(&assignments->rests); i++) {
        const struct ip *ip = &rest_at(&assignments->rests, i)->ip;
        if (pool_at(table, ip) == pool)
            count_one(pool, ip, false, ret_use, &avoided);
    }
    ret_use->size[0] -= avoided;
    for (size_t i = 0; i < 2; i++) {
        uint64_t taken = ret_use->used[i] + ret_use->resting[i];
        uint64_t left = ret_use->size[i] == UINT64_MAX ? UINT64_MAX : ret_use->size[i] - taken;
        ret_use->free[i] = left == UINT64_MAX ? left : left - ret_use->reserved[i];
    }
    return r;
}

static const struct lack *foreign_lack(const struct assignment *row)
{
    return &row->lacks[row->lacks[0].reason == LACK_FOREIGN ? 0 : 1];
}

static char *place_of(const struct assignment *row)
{
    return text_format("Service %s/%s", row->namespace, row->name);
}

static void add_foreign(const struct assignment *row, const struct lack *lack,
                        struct faults *faults)
{
    AUTOFREE char *place = place_of(row);
    fault_raise(faults, place, service_status_foreign, .has = row->ips.count ? 1 : 0,
                .of = lack->of);
}

static void add_pending(const struct assignment *row, const struct lack *lack, const char *family,
                        struct faults *faults)
{
    char ip[IP_STRLEN];
    AUTOFREE char *place = place_of(row);
    AUTOFREE char *address = lack->ip.family != IP_NONE
                                 ? text_format("address %s", ip_str(&lack->ip, ip))
                                 : text_format("%s address", family);
    faults->incomplete |= !address;
    fault_raise_type(
        faults, place, reasons[lack->reason].type,
        &(const struct fault_service_pending_taken){ .address = address, .of = lack->of });
}

static void add_uneven(const struct assignment *row, struct faults *faults)
{
    char ip[IP_STRLEN];
    AUTOFREE char *place = place_of(row);
    fault_raise(faults, place, service_sharing_uneven, .address = ip_str(&row->uneven.ip, ip),
                .others = row->uneven.of ? row->uneven.of : "others");
}

void assignment_faults(const struct assignments *assignments, struct faults *faults)
{
    sorted_each(struct assignment *const, row, &assignments->uneven)
        add_uneven(*row, faults);
    sorted_each(struct assignment *const, row, &assignments->pending) {
        if (assignment_is_foreign(*row)) {
            add_foreign(*row, foreign_lack(*row), faults);
            continue;
        }
        for (size_t i = 0; i < ARRAY_SIZE((*row)->lacks); i++) {
            const struct lack *lack = &(*row)->lacks[i];
            if (reasons[lack->reason].type)
                add_pending(*row, lack, i ? "IPv6" : "IPv4", faults);
        }
    }
}
