// SPDX-License-Identifier: Apache-2.0
/* The three orders of addresses in cooldown; see rests.h. Called by the assignment_*.c. */
#include "plan/pools/rests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

static int address_cmp(const void *a, const void *b)
{
    const struct rest *const *left = a, *const *right = b;
    return ip_cmp(&(*left)->ip, &(*right)->ip);
}

static int age_cmp(const void *a, const void *b)
{
    const struct rest *const *left = a, *const *right = b;
    int r = CMP((*left)->freed_ms, (*right)->freed_ms);
    return r ? r : address_cmp(a, b);
}

static int owner_cmp(const void *a, const void *b)
{
    const struct rest *const *left = a, *const *right = b;
    int r = strcmp((*left)->namespace, (*right)->namespace);
    r = r ? r : strcmp((*left)->name, (*right)->name);
    return r ? r : address_cmp(a, b);
}

void rests_init(struct rests *rests)
{
    *rests = (struct rests){
        .by_address = SORTED(struct rest *, address_cmp),
        .by_age = SORTED(struct rest *, age_cmp),
        .by_owner = SORTED(struct rest *, owner_cmp),
    };
}

static void rest_free(struct rest *rest)
{
    if (!rest)
        return;
    free(rest->namespace);
    free(rest->name);
    free(rest);
}
DEFINE_CLEANUP(struct rest *, rest_free);

void rests_done(struct rests *rests)
{
    sorted_each(struct rest *, rest, &rests->by_address)
        rest_free(*rest);
    sorted_done(&rests->by_address);
    sorted_done(&rests->by_age);
    sorted_done(&rests->by_owner);
}

static struct rest *find(const struct rests *rests, const struct ip *ip)
{
    struct rest key = { .ip = *ip }, *wanted = &key;
    struct rest **found = sorted_find(&rests->by_address, &wanted);
    return found ? *found : NULL;
}

const struct rest *rest_find(const struct rests *rests, const struct ip *ip)
{
    return find(rests, ip);
}

static void take_out(struct rests *rests, struct rest *rest)
{
    sorted_remove(&rests->by_address, &rest);
    sorted_remove(&rests->by_age, &rest);
    sorted_remove(&rests->by_owner, &rest);
}

void rest_remove(struct rests *rests, const struct ip *ip)
{
    struct rest *rest = find(rests, ip);
    if (!rest)
        return;
    take_out(rests, rest);
    rest_free(rest);
}

int rest_put(struct rests *rests, const struct ip *ip, int64_t freed_ms, const char *namespace,
             const char *name)
{
    CLEANUP(rest_freep) struct rest *rest = calloc(1, sizeof(*rest));
    if (!rest)
        return -ENOMEM;
    *rest = (struct rest){ *ip, freed_ms, strdup(namespace), strdup(name) };
    if (!rest->namespace || !rest->name)
        return -ENOMEM;
    rest_remove(rests, ip);
    if (sorted_put(&rests->by_address, &rest) < 0 || sorted_put(&rests->by_age, &rest) < 0 ||
        sorted_put(&rests->by_owner, &rest) < 0) {
        take_out(rests, rest);
        return -ENOMEM;
    }
    (void)TAKE_PTR(rest);
    return 0;
}

const struct rest *rest_oldest(const struct rests *rests)
{
    return rests->by_age.count ? *(struct rest *const *)sorted_at(&rests->by_age, 0) : NULL;
}

/* Only the order by age is concerned: the affected entries are its last ones, and stay so. */
void rests_heed_clock(struct rests *rests, int64_t now_ms)
{
    size_t first = rests->by_age.count;
    while (first > 0) {
        struct rest *rest = *(struct rest **)sorted_at(&rests->by_age, first - 1);
        if (rest->freed_ms <= now_ms)
            break;
        rest->freed_ms = now_ms;
        first--;
    }
    if (first < rests->by_age.count)
        qsort(rests->by_age.items, rests->by_age.count, rests->by_age.size, age_cmp);
}

size_t rest_first_of(const struct rests *rests, const char *namespace, const char *name)
{
    struct rest key = { .namespace = (char *)namespace, .name = (char *)name }, *wanted = &key;
    return sorted_lower_bound(&rests->by_owner, &wanted);
}
