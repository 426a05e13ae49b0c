// SPDX-License-Identifier: Apache-2.0
/*
 * Applies route notifications to the mirror, slot by slot, in one merge for the whole batch.
 *
 * How the kernel notifies of a change (seen on 6.18): a replace sends one RTM_NEWROUTE with
 * NLM_F_REPLACE and nothing about the replaced route. It replaces the first route in the slot; for
 * IPv6, the first that equally has a gateway or not, and a whole multipath route at once. For an
 * IPv6 route that gets a next hop, the message has all of them; for one that loses a next hop, only
 * that one. The mirror has neither the order within a slot nor single next hops, so:
 *
 * - one route in the slot: the replace replaces it;
 * - several, or a next hop that is not in the mirror, or a slot of a table of which
 *   the mirror holds a part only, as of main our guards: doubtful, and the caller dumps.
 *
 * This occurs only where routes were appended to a slot manually.
 */
#include "apply/mirror/replay.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "apply/mirror/decode.h"
#include "base/cleanup.h"
#include "base/macro.h"

typedef VEC(struct route) route_list;

struct replay {
    struct sorted *routes;
    const struct kernel_scope *scope;
    route_list standing;       /* in the current slot, as of the current event */
    route_list gone, come;     /* of all slots so far */
    route_event_list replaced; /* removals without an event */
    bool doubtful;
};

static void replay_done(struct replay *replay)
{
    vec_done(&replay->standing);
    vec_done(&replay->gone);
    vec_done(&replay->come);
    vec_done(&replay->replaced);
}

static int event_cmp(const void *a, const void *b)
{
    const struct route_event *left = a, *right = b;
    int r = route_slot_cmp(&left->route, &right->route);
    return r ? r : CMP(left->order, right->order);
}

static struct route *find(const route_list *routes, const struct route *route)
{
    vec_each(struct route, it, routes)
        if (route_cmp(it, route) == 0)
            return it;
    return NULL;
}

/* The mirror's routes in the slot of `route`. Returns their number. */
static size_t slot_of(const struct sorted *routes, const struct route *route,
                      const struct route **ret_first)
{
    struct route key = *route; /* with the rest zero: not greater than any in the slot */
    key.protocol = key.type = 0;
    key.ifindex = 0;
    key.source = (struct ip){ 0 };
    size_t start = sorted_lower_bound(routes, &key), end = start;
    while (end < routes->count && route_slot_cmp(sorted_at(routes, end), route) == 0)
        end++;
    *ret_first = end > start ? sorted_at(routes, start) : NULL; /* an empty table has no memory */
    return end - start;
}

static void take_out(struct replay *replay, const struct route_event *event)
{
    struct route *found = find(&replay->standing, &event->route);
    if (found)
        *found = replay->standing.items[--replay->standing.count];
    else if (replay->standing.count > 0)
        replay->doubtful = true;
}

static int replace_all(struct replay *replay, const struct route_event *event)
{
    size_t certain = scope_has_whole_table(replay->scope, event->route.table) ? 1 : 0;
    if (replay->standing.count > certain)
        replay->doubtful = true;
    vec_each(struct route, it, &replay->standing) {
        struct route_event removal = { *it, event->port, event->order, .remove = true };
        if (route_cmp(it, &event->route) != 0 && vec_push(&replay->replaced, removal) < 0)
            return -ENOMEM;
    }
    vec_clear(&replay->standing);
    return 0;
}

static int put_in(struct replay *replay, const struct route_event *event)
{
    const struct route *route = &event->route;
    if (event->replace && replace_all(replay, event) < 0)
        return -ENOMEM;
    if (!scope_has_route(replay->scope, route) || find(&replay->standing, route))
        return 0;
    bool grows = route->prefix.ip.family == IP_V6 && route_forwards(route) && route->ifindex == 0;
    if (grows && replay->standing.count > 0)
        replay->doubtful = true;
    return vec_push(&replay->standing, *route);
}

/* The events of one slot; the resulting difference is added to `gone` and `come`. */
static int replay_slot(struct replay *replay, const struct route_event *events, size_t count)
{
    const struct route *before;
    size_t before_count = slot_of(replay->routes, &events->route, &before);
    vec_clear(&replay->standing);
    for (size_t i = 0; i < before_count; i++)
        if (vec_push(&replay->standing, before[i]) < 0)
            return -ENOMEM;

    for (size_t i = 0; i < count; i++) {
        if (events[i].remove)
            take_out(replay, &events[i]);
        else if (put_in(replay, &events[i]) < 0)
            return -ENOMEM;
    }

    for (size_t i = 0; i < before_count; i++)
        if (!find(&replay->standing, &before[i]) && vec_push(&replay->gone, before[i]) < 0)
            return -ENOMEM;
    vec_each(struct route, it, &replay->standing)
        if (vec_push(&replay->come, *it) < 0)
            return -ENOMEM;
    return 0;
}

static int merge(struct replay *replay)
{
    size_t count = replay->gone.count + replay->come.count, at = 0;
    AUTOFREE struct sorted_change *changes = calloc(MAX(count, (size_t)1), sizeof(*changes));
    if (!changes)
        return -ENOMEM;
    vec_each(struct route, it, &replay->gone)
        changes[at++] = (struct sorted_change){ it, true };
    vec_each(struct route, it, &replay->come)
        changes[at++] = (struct sorted_change){ it, false };
    return sorted_merge(replay->routes, changes, count);
}

int replay_routes(struct sorted *routes, route_event_list *events, const struct kernel_scope *scope,
                  bool *ret_doubtful)
{
    CLEANUP(replay_done) struct replay replay = { .routes = routes, .scope = scope };
    vec_sort(events, event_cmp);

    for (size_t start = 0, end; start < events->count; start = end) {
        const struct route_event *first = &events->items[start];
        for (end = start + 1; end < events->count; end++)
            if (route_slot_cmp(&first->route, &events->items[end].route) != 0)
                break;
        if (replay_slot(&replay, first, end - start) < 0)
            return -ENOMEM;
    }
    if (vec_reserve(events, replay.replaced.count) < 0 || merge(&replay) < 0)
        return -ENOMEM;
    vec_each(struct route_event, it, &replay.replaced)
        events->items[events->count++] = *it;
    *ret_doubtful = replay.doubtful;
    return 0;
}
