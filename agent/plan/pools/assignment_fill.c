// SPDX-License-Identifier: Apache-2.0
/*
 * Allocates addresses in an update, after it is decided what each Service keeps: first those
 * requested by name, then all others, older Services first. Called by assignment_update.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "plan/pools/assignment_turn.h"
#include "plan/pools/foreign_status.h"

static const enum ip_family families[] = { IP_V4, IP_V6 };

int turn_take(struct work *work, struct turn *turn, const struct ip *ip)
{
    if (vec_push(&turn->ips, *ip) < 0)
        return -ENOMEM;
    return use_put(work->update.assignments, turn->row, ip);
}

bool ips_have_family(const ip_list *ips, enum ip_family family)
{
    vec_each(const struct ip, ip, ips) {
        if (ip->family == family)
            return true;
    }
    return false;
}

bool ips_have(const struct ip *ips, size_t count, const struct ip *ip)
{
    for (size_t i = 0; i < count; i++) {
        if (ip_equal(&ips[i], ip))
            return true;
    }
    return false;
}

int lack_fill(struct lack *lack, enum lack_reason reason, const struct ip *ip,
              const struct object *of)
{
    *lack = (struct lack){ .reason = reason, .ip = ip ? *ip : (struct ip){ 0 } };
    if (of)
        lack->of = text_format("%s %s%s%s", kind_name(of->kind), of->namespace,
                               *of->namespace ? "/" : "", of->name);
    return of && !lack->of ? -ENOMEM : 0;
}

/* The object of the reason, if it is not a conflicting object. */
static char *about(const struct turn *turn, const struct lack *lack, const struct object *of)
{
    const char *pool = turn->service ? turn->service->request.pool : NULL;
    const struct service_port *port =
        lack->reason == LACK_TAKEN && turn->service && of && of->kind == KIND_SERVICE
            ? assignment_contested_port(turn->service, to_service(of))
            : NULL;
    if (port)
        return text_format("%s, which has port %u/%s, too", lack->of, port->port,
                           protocol_name(port->protocol));
    if ((lack->reason == LACK_UNKNOWN_POOL || lack->reason == LACK_FORBIDDEN) && !lack->of && pool)
        return strdup(pool);
    return lack->of ? strdup(lack->of) : NULL;
}

static int lack_of(struct turn *turn, enum ip_family family, enum lack_reason reason,
                   const struct ip *ip, const struct object *of)
{
    struct lack *lack = &turn->lacks[family_index(family)];
    if (lack->reason)
        return 0;
    int r = lack_fill(lack, reason, ip, of);
    char *text = r == 0 ? about(turn, lack, of) : NULL;
    if (text) {
        free(lack->of);
        lack->of = text;
    }
    return r;
}

/* A partly readable request is not what its owner meant: no family without an address gets one. */
static int lack_all(struct turn *turn, enum lack_reason reason)
{
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(families) && r == 0; i++) {
        if (assignment_wants(turn->service, families[i]) &&
            !ips_have_family(&turn->ips, families[i]))
            r = lack_of(turn, families[i], reason, NULL, NULL);
    }
    return r;
}

/* With a status of another allocator nothing is allocated or released. */
static int lack_foreign(const struct work *work, struct turn *turn)
{
    const struct pool_table *pools = work->update.pools;
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        struct lack *lack = &turn->lacks[family_index(families[i])];
        if (lack->reason || !assignment_wants(turn->service, families[i]))
            continue;
        lack->of = status_foreign_text(pools, turn->service);
        if (!lack->of)
            return -ENOMEM;
        lack->reason = LACK_FOREIGN;
    }
    return 0;
}

/*
 * Whether it requests an address of a family that it does not have: then no other address is
 * allocated.
 */
static bool names_other_family(const struct service *service)
{
    for (uint32_t i = 0; i < service->request.address_count; i++) {
        if (!assignment_wants(service, (enum ip_family)service->request.addresses[i].family))
            return true;
    }
    return false;
}

/* Allocates the addresses that it requests by name. */
static int pick_named(struct work *work, struct turn *turn, ip_list *picks)
{
    const struct address_request *request = &turn->service->request;
    int r = 0;
    for (uint32_t i = 0; i < request->address_count && r == 0; i++) {
        const struct ip *ip = &request->addresses[i];
        const struct object *of;
        if (ips_have(turn->ips.items, turn->ips.count, ip))
            continue;
        enum lack_reason reason =
            assignment_judge(&work->update, turn->row, turn->service, ip, false, &of);
        r = reason ? lack_of(turn, ip->family, reason, ip, of) : vec_push(picks, *ip);
    }
    return r;
}

/* Whether it is to get an address of the family that it neither has nor names. */
static bool misses(const struct turn *turn, enum ip_family family)
{
    return assignment_wants(turn->service, family) && !assignment_names(turn->service, family) &&
           !ips_have_family(&turn->ips, family);
}

static const struct ip *lowest(const ip_list *a, const ip_list *b)
{
    const struct ip *found = NULL;
    vec_each(const struct ip, ip, a)
        found = !found || ip_cmp(ip, found) < 0 ? ip : found;
    vec_each(const struct ip, ip, b)
        found = !found || ip_cmp(ip, found) < 0 ? ip : found;
    return found;
}

/* The common pool of both addresses of a dual-stack Service, if one pool has both. */
static int prefer_pool(const struct work *work, const struct turn *turn, const ip_list *picks,
                       const struct pool **ret_pool)
{
    const struct ip *ip = lowest(&turn->ips, picks);
    *ret_pool = ip ? pool_at(work->update.pools, ip) : NULL;
    if (ip || !misses(turn, IP_V4) || !misses(turn, IP_V6))
        return 0;
    return assignment_choose_pool(&work->update, turn->row, turn->service, ret_pool);
}

/* Allocates one of each family of which it names none. */
static int pick_others(struct work *work, struct turn *turn, ip_list *picks)
{
    const struct service *service = turn->service;
    const struct pool *preferred;
    if (names_other_family(service))
        return 0;
    int r = prefer_pool(work, turn, picks, &preferred);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        enum lack_reason reason;
        const struct object *pool = NULL;
        struct ip ip;
        if (!misses(turn, families[i]))
            continue;
        r = assignment_choose(&work->update, turn->row, service, families[i], preferred, &ip,
                              &reason, &pool);
        if (r < 0)
            return r;
        r = reason ? lack_of(turn, families[i], reason, NULL, pool) : vec_push(picks, ip);
        if (r < 0)
            return r;
    }
    return 0;
}

/* RequireDualStack means both families or none; held addresses stay. */
static int drop_halves(struct turn *turn, ip_list *picks)
{
    if (turn->service->request.policy != FAMILY_REQUIRE_DUAL ||
        !(turn->lacks[0].reason || turn->lacks[1].reason))
        return 0;
    vec_each(const struct ip, ip, picks) {
        if (lack_of(turn, ip->family, LACK_PARTNER, NULL, NULL) < 0)
            return -ENOMEM;
    }
    vec_clear(picks);
    return 0;
}

/* With PreferDualStack the second family is optional: that it has no pool is no lack. */
static void forgive_absent(struct turn *turn)
{
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        struct lack *lack = &turn->lacks[family_index(families[i])];
        if (turn->service->request.policy != FAMILY_PREFER_DUAL || lack->reason != LACK_NO_POOL ||
            !ips_have_family(&turn->ips, families[!i]))
            continue;
        free(lack->of);
        *lack = (struct lack){ 0 };
    }
}

/*
 * Named addresses are allocated before all others, so that no Service gets an address that a
 * younger Service names in the same update. RequireDualStack gets both families in one step.
 */
static int fill(struct work *work, struct turn *turn, bool named)
{
    AUTOVEC ip_list picks = { 0 };
    bool at_once =
        turn->service->request.policy == FAMILY_REQUIRE_DUAL &&
        !(assignment_names(turn->service, IP_V4) && assignment_names(turn->service, IP_V6));
    int r = 0;
    if (work->update.inputs->keep_only)
        return lack_all(turn, LACK_RECORD);
    if (status_is_foreign(work->update.pools, turn->service))
        return lack_foreign(work, turn);
    if (turn->service->request.unreadable)
        return lack_all(turn, LACK_UNREADABLE);
    if (named != at_once)
        r = pick_named(work, turn, &picks);
    if (r < 0)
        return r;
    if (!named)
        r = pick_others(work, turn, &picks);
    if (r < 0)
        return r;
    r = drop_halves(turn, &picks);
    if (r < 0)
        return r;
    vec_each(const struct ip, ip, &picks) {
        r = turn_take(work, turn, ip);
        if (r < 0)
            return r;
    }
    forgive_absent(turn);
    return 0;
}

int turns_fill(struct work *work)
{
    for (int named = 1; named >= 0; named--) {
        vec_each(struct turn, turn, &work->turns) {
            int r = turn->service ? fill(work, turn, named) : 0;
            if (r < 0)
                return r;
        }
    }
    return 0;
}
