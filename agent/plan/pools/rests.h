/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LoadBalancer addresses that rest: nobody has them any more, and others get them only after a
 * time, or when a pool has nothing else. Kept in three orders, so that nobody has to walk over all:
 * by address, by age, and by who had them last. Pure; a part of assignments (assignment.h).
 */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"
#include "base/sorted.h"

/* So many rest at most; what is freed beyond that is free at once. */
enum { RESTS_MAX = 65536 };

struct rest {
    struct ip ip;
    int64_t freed_ms; /* wall clock */
    char *namespace, *name;
};

/* Each has struct rest *, of which the first is the owner. */
struct rests {
    struct sorted by_address, by_age, by_owner;
};

void rests_init(struct rests *rests);
void rests_done(struct rests *rests);

static inline size_t rests_count(const struct rests *rests)
{
    return rests->by_address.count;
}

/* In order of address. */
static inline const struct rest *rest_at(const struct rests *rests, size_t index)
{
    return *(struct rest *const *)sorted_at(&rests->by_address, index);
}

const struct rest *rest_find(const struct rests *rests, const struct ip *ip);

/* In place of what is there for the address. 0 or -ENOMEM. */
int rest_put(struct rests *rests, const struct ip *ip, int64_t freed_ms, const char *namespace,
             const char *name);
void rest_remove(struct rests *rests, const struct ip *ip);

/* The one that has rested the longest; NULL: none does. */
const struct rest *rest_oldest(const struct rests *rests);

/* None has been freed later than now: the clock may have jumped. */
void rests_heed_clock(struct rests *rests, int64_t now_ms);

/* The index in `by_owner` of the first that a Service had; those behind it follow. */
size_t rest_first_of(const struct rests *rests, const char *namespace, const char *name);
