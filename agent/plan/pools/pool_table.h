/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All pools of LoadBalancer addresses as one table: which pool an address is of, which pools a
 * Service may have an address of, in which order. Pure; made anew for each plan. Internal to plan/,
 * but for who asks whether an address is of a pool at all.
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
    uint64_t size[2];             /* addresses that are its own: IPv4, IPv6; UINT64_MAX: or more */
};

/* Addresses of one pool in a row. No two spans overlap. */
struct pool_span {
    struct ip_range range;
    uint32_t pool;  /* its index */
    struct ip next; /* a cursor: nothing before it is free; for who gives addresses */
    bool full;      /* nothing is */
};

struct pool_table {
    VEC(struct pool) pools;      /* in order of precedence */
    VEC(struct pool_span) spans; /* sorted by address */
};

/*
 * The table of these pools, which are borrowed and must outlive it. An address that several have is
 * the oldest pool's, and a fault. Returns 0, then the caller ends with pool_table_done(); or
 * -ENOMEM.
 */
int pool_table_of(const object_list *pools, struct pool_table *ret_table, struct faults *faults);

/*
 * The same of the pools in the store. */
int pool_table_make(const struct store *store, struct pool_table *ret_table, struct faults *faults);
void pool_table_done(struct pool_table *table);

/* All cursors back to the start; the one of an address that has become free back to it. */
void pool_table_rewind(struct pool_table *table);
void pool_table_free(struct pool_table *table, const struct ip *ip);

/* The row of a pool that the table was made of, or NULL. */
const struct pool *pool_table_find(const struct pool_table *table, const struct object *object);

/* Whose an address is; NULL: no pool's. */
const struct pool *pool_at(const struct pool_table *table, const struct ip *ip);

/* Whether an object names the address itself: it is only for who asks for it. */
bool pool_reserves(const struct pool *pool, const struct ip *ip);

/* How many addresses it has and does not give (avoidBuggyIPs); all of IPv4. */
uint64_t pool_avoided_count(const struct pool_table *table, const struct pool *pool);

/* How many of the others are reserved: of IPv4, of IPv6. 0 or -ENOMEM. */
int pool_reserved_count(const struct pool_table *table, const struct pool *pool,
                        uint64_t ret_count[static 2]);

/* Whether its serviceAllocation lets the Service have an address. */
bool pool_allows(const struct store *store, const struct pool *pool, const struct service *service);

/* Whether it has the address, but does not give it (avoidBuggyIPs). */
bool pool_avoids(const struct pool *pool, const struct ip *ip);

static inline size_t family_index(enum ip_family family)
{
    return family == IP_V6;
}

typedef VEC(uint32_t) pool_order;

/*
 * The pools that give a Service an address of the family without being asked for one by name: with
 * `request.pool` those of that name, else those with autoAssign. A pool that names whom it is for
 * comes before those for everybody, lower priorities first; then the smaller pool, then by name.
 * Returns 0 or -ENOMEM.
 */
int pool_order_for(const struct store *store, const struct pool_table *table,
                   const struct service *service, enum ip_family family, pool_order *ret_order);
