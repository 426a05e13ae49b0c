// SPDX-License-Identifier: Apache-2.0
/* The scope of a mirror; see scope.h. */
#include "apply/mirror/scope.h"

#include <errno.h>
#include <linux/rtnetlink.h>

struct kernel_scope scope_of_node(uint32_t export_table)
{
    return (struct kernel_scope){
        .routes = {
            { export_table, RTPROT_UNSPEC, RTN_UNSPEC },
            { ROUTE_TABLE_GUARD, RTPROT_UNSPEC, RTN_UNSPEC },
            { ROUTE_TABLE_MAIN, ROUTE_PROTOCOL_GUARD, RTN_UNSPEC },
            { ROUTE_TABLE_MAIN, ROUTE_PROTOCOL_BLOCK, RTN_UNSPEC },
            { ROUTE_TABLE_MAIN, RTPROT_UNSPEC, RTN_BLACKHOLE },
        },
        .route_count = 5,
        .export_table = export_table,
        .rules = true,
        .links = true,
        .addresses = true,
    };
}

int scope_add_routes(struct kernel_scope *scope, uint32_t table, uint8_t protocol)
{
    for (size_t i = 0; i < scope->route_count; i++) {
        const struct scope_routes *row = &scope->routes[i];
        if (row->table == table && row->protocol == protocol && row->type == RTN_UNSPEC)
            return 0;
    }
    if (scope->route_count == SCOPE_ROUTES_MAX)
        return -ENOSPC;
    scope->routes[scope->route_count++] = (struct scope_routes){ table, protocol, RTN_UNSPEC };
    return 0;
}

bool scope_is_own(const struct kernel_scope *scope, const struct route *route)
{
    for (size_t i = 0; i < scope->route_count; i++) {
        const struct scope_routes *row = &scope->routes[i];
        if (row->table == route->table && row->protocol != RTPROT_UNSPEC &&
            row->protocol == route->protocol)
            return true;
    }
    return route_is_ours(route, scope->export_table);
}

static bool row_asks_for(const struct scope_routes *row, uint8_t protocol, uint8_t type)
{
    return (row->protocol == RTPROT_UNSPEC || row->protocol == protocol) &&
           (row->type == RTN_UNSPEC || row->type == type);
}

bool scope_has_route(const struct kernel_scope *scope, const struct route *route)
{
    for (size_t i = 0; i < scope->route_count; i++) {
        const struct scope_routes *row = &scope->routes[i];
        if (row->table == route->table && row_asks_for(row, route->protocol, route->type))
            return true;
    }
    return false;
}

bool scope_has_table(const struct kernel_scope *scope, uint32_t table)
{
    for (size_t i = 0; i < scope->route_count; i++) {
        if (scope->routes[i].table == table)
            return true;
    }
    return false;
}

bool scope_has_whole_table(const struct kernel_scope *scope, uint32_t table)
{
    for (size_t i = 0; i < scope->route_count; i++) {
        const struct scope_routes *row = &scope->routes[i];
        if (row->table == table && row->protocol == RTPROT_UNSPEC && row->type == RTN_UNSPEC)
            return true;
    }
    return false;
}

/* Table numbers above 255 do not fit into the fixed part, which then has RT_TABLE_COMPAT. */
static bool row_may_have(const struct scope_routes *row, const struct rtmsg *fixed, bool replaces)
{
    const bool same = row->table > UINT8_MAX ? fixed->rtm_table == RT_TABLE_COMPAT
                                             : fixed->rtm_table == row->table;
    return same && (replaces || row_asks_for(row, fixed->rtm_protocol, fixed->rtm_type));
}

bool scope_may_have(const struct kernel_scope *scope, const struct nlmsghdr *message)
{
    if (mnl_nlmsg_get_payload_len(message) < sizeof(struct rtmsg))
        return false;
    const struct rtmsg *fixed = mnl_nlmsg_get_payload(message);
    if (fixed->rtm_flags & RTM_F_CLONED)
        return false;
    for (size_t i = 0; i < scope->route_count; i++) {
        if (row_may_have(&scope->routes[i], fixed, message->nlmsg_flags & NLM_F_REPLACE))
            return true;
    }
    return false;
}

/* Routes are deleted without a notification with links and addresses that they need: see loss.h. */
size_t scope_groups(const struct kernel_scope *scope, uint32_t groups[static SCOPE_GROUPS_MAX])
{
    const bool routes = scope->route_count > 0;
    const struct {
        bool needed;
        uint32_t group;
    } all[SCOPE_GROUPS_MAX] = {
        { routes || scope->paths, RTNLGRP_IPV4_ROUTE },
        { routes || scope->paths, RTNLGRP_IPV6_ROUTE },
        { scope->rules, RTNLGRP_IPV4_RULE },
        { scope->rules, RTNLGRP_IPV6_RULE },
        { routes || scope->addresses, RTNLGRP_IPV4_IFADDR },
        { routes || scope->addresses, RTNLGRP_IPV6_IFADDR },
        { routes || scope->links, RTNLGRP_LINK },
        { routes, RTNLGRP_NEXTHOP },
        { scope->links, RTNLGRP_TC },
        { scope->links, RTNLGRP_IPV4_NETCONF },
        { scope->links, RTNLGRP_IPV6_NETCONF },
    };
    size_t count = 0;
    for (size_t i = 0; i < SCOPE_GROUPS_MAX; i++) {
        if (all[i].needed)
            groups[count++] = all[i].group;
    }
    return count;
}
