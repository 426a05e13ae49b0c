/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All pools of LoadBalancer addresses as one table: the pool of an address, and the pools from
 * which a Service may get one, in order. Pure; rebuilt for each plan. Internal to plan/, except
 * lookups of an address's pool.
 */
#pragma once

#include <stdbool.h>

#include "base/fault.h"
#include "base/net/ip_range.h"
#include "model/ip_pool.h"
#include "model/services/service.h"
#include "store/store.h"

struct pool {
    const struct ip_pool *object; /* borrowed from the store */
    uint64_t size[2]; /* number of its own addresses: IPv4, IPv6; UINT64_MAX: that many or more */
};

/* A contiguous range of addresses of one pool. No two spans overlap. */
struct pool_span {
    struct ip_range range;
    uint32_t pool;  /* its index */
    struct ip next; /* a cursor of the allocator: no address before it is free */
    bool full;      /* no address is free */
};

struct pool_table {
    VEC(struct pool) pools;      /* in order of precedence */
    VEC(struct pool_span) spans; /* sorted by address */
};

/*
 * The table of these pools, which are borrowed and must outlive it. An address in several pools
 * belongs to the oldest one, with a fault. Returns 0, then the caller ends with pool_table_done();
 * or -ENOMEM.
 */
int pool_table_of(const object_list *pools, struct pool_table *ret_table, struct faults *faults);

/*
 * The same of the pools in the store. */
int pool_table_make(const struct store *store, struct pool_table *ret_table, struct faults *faults);
void pool_table_done(struct pool_table *table);

/*
 * Resets all cursors to the start; sets the cursor of a freed address's span back to the address.
 */
void pool_table_rewind(struct pool_table *table);
void pool_table_free(struct pool_table *table, const struct ip *ip);

/* The row of a pool in the table, or NULL. */
const struct pool *pool_table_find(const struct pool_table *table, const struct object *object);

/* The pool of an address; NULL: none. */
const struct pool *pool_at(const struct pool_table *table, const struct ip *ip);

/* Whether an object names the address itself: it is allocated only by name. */
bool pool_reserves(const struct pool *pool, const struct ip *ip);

/* The number of its addresses that are not allocated (avoidBuggyIPs); all of IPv4. */
uint64_t pool_avoided_count(const struct pool_table *table, const struct pool *pool);

/* How many of the others are reserved: IPv4, IPv6. Returns 0 or -ENOMEM. */
int pool_reserved_count(const struct pool_table *table, const struct pool *pool,
                        uint64_t ret_count[static 2]);

/* Whether its serviceAllocation allows the Service an address. */
bool pool_allows(const struct store *store, const struct pool *pool, const struct service *service);

/* Whether it has the address, but does not allocate it (avoidBuggyIPs). */
bool pool_avoids(const struct pool *pool, const struct ip *ip);

static inline size_t family_index(enum ip_family family)
{
    return family == IP_V6;
}

typedef VEC(uint32_t) pool_order;

/*
 * The pools for a Service that requests no address of the family by name: with `request.pool` those
 * of that name, else those with autoAssign. Pools with a serviceAllocation come before those for
 * all Services, lower priorities first; then the smaller pool, then by name. Returns 0 or -ENOMEM.
 */
int pool_order_for(const struct store *store, const struct pool_table *table,
                   const struct service *service, enum ip_family family, pool_order *ret_order);
