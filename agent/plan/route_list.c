// SPDX-License-Identifier: Apache-2.0
/*
 * From rows to kernel routes and rules: which lines the tables must hold. One row asks for at most
 * two routes, so that a change of one row is a change of at most two slots.
 */
#include <linux/rtnetlink.h>

#include "plan/routes.h"

static uint32_t plain_metric(const struct ip *ip)
{
    return ip->family == IP_V4 ? ROUTE_METRIC_V4 : ROUTE_METRIC_V6;
}

static struct route export_route(const struct config *config, struct prefix prefix,
                                 uint8_t protocol)
{
    return (struct route){
        .table = config->routes.table,
        .prefix = prefix,
        .metric = plain_metric(&prefix.ip),
        .protocol = protocol,
        .type = RTN_BLACKHOLE,
    };
}

static struct route guard_route(uint32_t table, struct prefix prefix, uint32_t metric)
{
    return (struct route){
        .table = table,
        .prefix = prefix,
        .metric = metric,
        .protocol = ROUTE_PROTOCOL_GUARD,
        .type = RTN_UNREACHABLE,
    };
}

/* Puts a pair into the order of route_cmp(): the tables' numbers are the operator's choice. */
static void order_pair(struct route routes[static 2], int count)
{
    if (count == 2 && route_cmp(&routes[0], &routes[1]) > 0) {
        struct route first = routes[0];
        routes[0] = routes[1];
        routes[1] = first;
    }
}

int address_routes(const struct config *config, const struct address_row *row,
                   struct route ret_routes[static 2])
{
    struct prefix prefix = ip_host_prefix(&row->address);
    int count = 0;
    if (row->reason == REASON_ANNOUNCED)
        ret_routes[count++] = export_route(config, prefix, row->protocol);
    if (row->guarded)
        ret_routes[count++] = guard_route(ROUTE_TABLE_GUARD, prefix, plain_metric(&row->address));
    order_pair(ret_routes, count);
    return count;
}

int block_routes(const struct config *config, const struct block_row *row,
                 struct route ret_routes[static 2])
{
    ret_routes[0] = export_route(config, row->prefix, ROUTE_PROTOCOL_BLOCK);
    ret_routes[1] = guard_route(ROUTE_TABLE_MAIN, row->prefix, ROUTE_METRIC_GUARD);
    order_pair(ret_routes, 2);
    return 2;
}

/*
 * Two rows may ask for one slot: a block of one address that is a service's too, or two blocks of
 * one prefix. The first by route_cmp() has it, which is the lower protocol number: the block's.
 */
static void drop_slot_duplicates(route_list *routes)
{
    size_t kept = 0;
    vec_each(struct route, route, routes) {
        if (kept && route_slot_cmp(&routes->items[kept - 1], route) == 0)
            continue;
        routes->items[kept++] = *route;
    }
    routes->count = kept;
}

int plan_route_list(const struct config *config, const struct route_plan *plan,
                    route_list *ret_routes)
{
    route_list routes = {};
    struct route pair[2];
    int r = vec_reserve(&routes, 2 * (plan->addresses.count + plan->blocks.count));
    for (size_t i = 0; r == 0 && i < plan->addresses.count; i++) {
        const struct address_row *row = *(struct address_row **)sorted_at(&plan->addresses, i);
        int count = address_routes(config, row, pair);
        for (int j = 0; j < count; j++)
            routes.items[routes.count++] = pair[j];
    }
    for (size_t i = 0; r == 0 && i < plan->blocks.count; i++) {
        int count = block_routes(config, sorted_at(&plan->blocks, i), pair);
        for (int j = 0; j < count; j++)
            routes.items[routes.count++] = pair[j];
    }
    if (r < 0) {
        vec_done(&routes);
        return r;
    }
    vec_sort(&routes, route_cmp);
    drop_slot_duplicates(&routes);
    *ret_routes = routes;
    return 0;
}

static void prefer(struct route *best, bool *found, const struct route *pair, int count,
                   const struct route *slot)
{
    for (int i = 0; i < count; i++) {
        if (route_slot_cmp(&pair[i], slot) != 0 || (*found && route_cmp(&pair[i], best) > 0))
            continue;
        *best = pair[i];
        *found = true;
    }
}

bool plan_wanted_route(const struct config *config, const struct route_plan *plan,
                       const struct route *slot, struct route *ret_route)
{
    struct route best, pair[2];
    bool found = false;
    const struct prefix *prefix = &slot->prefix;

    if (prefix->length == ip_bits(&prefix->ip)) {
        struct address_row key = { .address = prefix->ip }, *key_ptr = &key;
        struct address_row **row = sorted_find(&plan->addresses, &key_ptr);
        if (row)
            prefer(&best, &found, pair, address_routes(config, *row, pair), slot);
    }
    struct block_row first = { .prefix = *prefix };
    for (size_t i = sorted_lower_bound(&plan->blocks, &first); i < plan->blocks.count; i++) {
        const struct block_row *row = sorted_at(&plan->blocks, i);
        if (prefix_cmp(&row->prefix, prefix) != 0)
            break;
        prefer(&best, &found, pair, block_routes(config, row, pair), slot);
    }
    if (found)
        *ret_route = best;
    return found;
}

static struct rule guard_rule(uint8_t family)
{
    return (struct rule){
        .family = family,
        .priority = RULE_PRIORITY_GUARD,
        .table = ROUTE_TABLE_GUARD,
        .protocol = ROUTE_PROTOCOL_GUARD,
        .invert = true,
        .iif = "lo",
    };
}

int plan_rule_list(const struct route_plan *plan, rule_list *ret_rules)
{
    rule_list rules = {};
    bool v4 = false, v6 = false;
    for (size_t i = 0; i < plan->addresses.count; i++) {
        const struct address_row *row = *(struct address_row **)sorted_at(&plan->addresses, i);
        v4 |= row->guarded && row->address.family == IP_V4;
        v6 |= row->guarded && row->address.family == IP_V6;
    }
    int r = vec_reserve(&rules, 2);
    if (r < 0)
        return r;
    if (v4)
        rules.items[rules.count++] = guard_rule(IP_V4);
    if (v6)
        rules.items[rules.count++] = guard_rule(IP_V6);
    *ret_rules = rules;
    return 0;
}
