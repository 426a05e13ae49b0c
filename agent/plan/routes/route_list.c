// SPDX-License-Identifier: Apache-2.0
/*
 * Maps rows to kernel routes and rules. One row has at most two routes, so that a change of one row
 * changes at most two slots.
 */
#include <linux/rtnetlink.h>
#include <string.h>

#include "plan/routes/route_list.h"

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

/* In main no foreign route to the same prefix shall be preferred. */
static uint32_t first_metric(const struct ip *ip)
{
    return ip->family == IP_V4 ? ROUTE_METRIC_V4 : ROUTE_METRIC_FIRST_V6;
}

/* The route of a network or address to svc0. */
static struct route led_route(const struct route_plan *plan, struct prefix prefix,
                              const struct svc0_route *svc0_route)
{
    struct route route = plan->svc0_by_rule
                             ? guard_route(ROUTE_TABLE_GUARD, prefix, plain_metric(&prefix.ip))
                             : guard_route(ROUTE_TABLE_MAIN, prefix, first_metric(&prefix.ip));
    route.type = RTN_UNICAST;
    route.ifindex = svc0_route->ifindex;
    route.source = svc0_route->source;
    return route;
}

/*
 * A throw route: the lookup continues in the following tables, as if the network had no route to
 * svc0.
 */
static struct route foreign_route(struct prefix prefix)
{
    struct route route = guard_route(ROUTE_TABLE_GUARD, prefix, plain_metric(&prefix.ip));
    route.type = RTN_THROW;
    return route;
}

struct route net_route(const struct route_plan *plan, const struct net_row *row)
{
    return led_route(plan, row->prefix, &row->svc0_route);
}

bool direct_route(const struct direct_row *row, struct route *ret_route)
{
    *ret_route = (struct route){
        .table = ROUTE_TABLE_MAIN,
        .prefix = row->prefix,
        .metric = plain_metric(&row->prefix.ip),
        .protocol = ROUTE_PROTOCOL_BLOCK,
        .type = RTN_UNICAST,
        .ifindex = row->ifindex,
        .gateway = row->via,
    };
    return row->reason == DIRECT_ROUTED;
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

int address_routes(const struct config *config, const struct route_plan *plan,
                   const struct address_row *row, struct route ret_routes[static 2])
{
    struct prefix prefix = ip_host_prefix(&row->address);
    int count = 0;
    if (row->reason == REASON_ANNOUNCED)
        ret_routes[count++] = export_route(config, prefix, row->protocol);
    if (row->gateway && row->guarded)
        ret_routes[count++] = guard_route(ROUTE_TABLE_MAIN, prefix, ROUTE_METRIC_GUARD);
    else if (row->svc0_route.ifindex)
        ret_routes[count++] = led_route(plan, prefix, &row->svc0_route);
    else if (row->foreign)
        ret_routes[count++] = foreign_route(prefix);
    else if (row->guarded)
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
 * Two rows may need the same slot: a block of one address that is a Service's too, or two blocks of
 * one prefix, also on two other nodes. The first by route_cmp() gets it, which has the lower
 * protocol number: the block's.
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

static void append(route_list *routes, const struct route *pair, int count)
{
    for (int i = 0; i < count; i++)
        routes->items[routes->count++] = pair[i];
}

int plan_route_list(const struct config *config, const struct route_plan *plan,
                    route_list *ret_routes)
{
    AUTOVEC route_list routes = { 0 };
    struct route pair[2];
    size_t most =
        2 * (plan->addresses.count + plan->blocks.count) + plan->nets.count + plan->direct.count;
    int r = vec_reserve(&routes, most);
    if (r < 0)
        return r;
    sorted_each(struct address_row *const, row, &plan->addresses)
        append(&routes, pair, address_routes(config, plan, *row, pair));
    sorted_each(const struct block_row, row, &plan->blocks)
        append(&routes, pair, block_routes(config, row, pair));
    sorted_each(const struct net_row, row, &plan->nets)
        routes.items[routes.count++] = net_route(plan, row);
    sorted_each(const struct direct_row, row, &plan->direct)
        routes.count += direct_route(row, &routes.items[routes.count]);
    vec_sort(&routes, route_cmp);
    drop_slot_duplicates(&routes);
    *ret_routes = TAKE_STRUCT(routes);
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

/* For blocks of other nodes. */
static void prefer_direct(const struct route_plan *plan, const struct route *slot,
                          struct route *best, bool *found)
{
    struct direct_row first = { .prefix = slot->prefix };
    struct route route;
    for (size_t i = sorted_lower_bound(&plan->direct, &first); i < plan->direct.count; i++) {
        const struct direct_row *row = sorted_at(&plan->direct, i);
        if (prefix_cmp(&row->prefix, &slot->prefix) != 0)
            return;
        if (direct_route(row, &route))
            prefer(best, found, &route, 1, slot);
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
            prefer(&best, &found, pair, address_routes(config, plan, *row, pair), slot);
    }
    struct block_row first = { .prefix = *prefix };
    for (size_t i = sorted_lower_bound(&plan->blocks, &first); i < plan->blocks.count; i++) {
        const struct block_row *row = sorted_at(&plan->blocks, i);
        if (prefix_cmp(&row->prefix, prefix) != 0)
            break;
        prefer(&best, &found, pair, block_routes(config, row, pair), slot);
    }
    const struct net_row *net = sorted_find(&plan->nets, &(struct net_row){ .prefix = *prefix });
    if (net) {
        pair[0] = net_route(plan, net);
        prefer(&best, &found, pair, 1, slot);
    }
    prefer_direct(plan, slot, &best, &found);
    if (found)
        *ret_route = best;
    return found;
}

/* With NAT off the node's own packets bypass the guard table; with NAT on they are routed by it. */
static struct rule guard_rule(uint8_t family, bool for_all)
{
    struct rule rule = {
        .family = family,
        .priority = RULE_PRIORITY_GUARD,
        .table = ROUTE_TABLE_GUARD,
        .protocol = ROUTE_PROTOCOL_GUARD,
        .invert = !for_all,
    };
    if (!for_all)
        memcpy(rule.iif, "lo", sizeof("lo"));
    return rule;
}

/* The contents of the guard table for one family. */
struct guarding {
    bool any, led;
};

static void note_guard(const struct route_plan *plan, struct guarding guarding[static 2],
                       uint8_t family, bool guarded, const struct svc0_route *svc0_route)
{
    struct guarding *of = &guarding[family == IP_V4 ? 0 : 1];
    of->any |= svc0_route->ifindex ? plan->svc0_by_rule : guarded;
    of->led |= svc0_route->ifindex && plan->svc0_by_rule;
}

int plan_rule_list(const struct route_plan *plan, rule_list *ret_rules)
{
    static const uint8_t families[2] = { IP_V4, IP_V6 };
    struct guarding guarding[2] = { 0 };
    AUTOVEC rule_list rules = { 0 };
    sorted_each(struct address_row *const, row, &plan->addresses)
        note_guard(plan, guarding, (*row)->address.family, (*row)->guarded && !(*row)->gateway,
                   &(*row)->svc0_route);
    sorted_each(const struct net_row, row, &plan->nets)
        note_guard(plan, guarding, row->prefix.ip.family, false, &row->svc0_route);

    int r = vec_reserve(&rules, 2);
    if (r < 0)
        return r;
    for (size_t i = 0; i < 2; i++) {
        if (guarding[i].any)
            rules.items[rules.count++] = guard_rule(families[i], guarding[i].led);
    }
    *ret_rules = TAKE_STRUCT(rules);
    return 0;
}
