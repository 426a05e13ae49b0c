/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Freed LoadBalancer addresses in cooldown: other Services get them only after some time, or when a
 * pool has no other. Kept in three orders, so that no lookup iterates over all: by address, by age,
 * and by last owner. Pure; a part of assignments (assignment.h).
 */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"
#include "base/sorted.h"

/* The limit of addresses in cooldown; further ones are free at once. */
enum { RESTS_MAX = 65536 };

struct rest {
    struct ip ip;
    int64_t freed_ms; /* wall clock */
    char *namespace, *name;
};

/* Each has struct rest *; the first owns them. */
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

/* Adds an address, or replaces its entry. Returns 0 or -ENOMEM. */
int rest_put(struct rests *rests, const struct ip *ip, int64_t freed_ms, const char *namespace,
             const char *name);
void rest_remove(struct rests *rests, const struct ip *ip);

/* The one with the longest cooldown; NULL: none. */
const struct rest *rest_oldest(const struct rests *rests);

/* Limits all times to now: the clock may have been set back. */
void rests_heed_clock(struct rests *rests, int64_t now_ms);

/* The index in `by_owner` of the first address of a Service; its others follow. */
size_t rest_first_of(const struct rests *rests, const char *namespace, const char *name);
