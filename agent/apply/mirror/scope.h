/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mirror of the kernel's tables holds: which routes, whether rules and links, and which
 * addresses. Each mirror (kernel.h) is opened with one, and hears of nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "plan/routes/route_table.h"

enum { SCOPE_ROUTES_MAX = 8 };

/* Routes of one table: all of them, or those of one protocol number or type. */
struct scope_routes {
    uint32_t table;
    uint8_t protocol; /* 0: of any */
    uint8_t type;     /* RTN_BLACKHOLE; 0: of any */
};

struct kernel_scope {
    struct scope_routes routes[SCOPE_ROUTES_MAX];
    size_t route_count;    /* 0: no routes */
    uint32_t export_table; /* by which a route is ours: see base/ours.h */
    bool rules;            /* all but the three standard ones */
    bool links;       /* all, and filters of clsact qdiscs that go, or come before ours, are told */
    bool addresses;   /* of interfaces, with their networks */
    bool paths;       /* where routes lead, of all tables (ways.h); with links */
    uint32_t ifindex; /* whose addresses; 0: all interfaces' */
};

/*
 * What agentd's engines look at: all of the export and the guard table, guards and routes to blocks
 * and pods in main, blackholes of anybody there, rules, links and addresses.
 */
struct kernel_scope scope_of_node(uint32_t export_table);

/* Adds routes of a table, of one protocol number or (0) of any, and of any type, once. Returns 0,
 * or -ENOSPC. */
int scope_add_routes(struct kernel_scope *scope, uint32_t table, uint8_t protocol);

/*
 * True of a route that this program wrote: base/ours.h says so, or the scope asks for its table's
 * routes of this very protocol number.
 */
bool scope_is_own(const struct kernel_scope *scope, const struct route *route);

/* True if the scope has such routes. */
bool scope_has_route(const struct kernel_scope *scope, const struct route *route);
/* True if it has any routes of this table, or all of them. */
bool scope_has_table(const struct kernel_scope *scope, uint32_t table);
bool scope_has_whole_table(const struct kernel_scope *scope, uint32_t table);

/*
 * A look at the fixed part of a route's message alone, for the flood of the main table's
 * notifications: false if neither the route nor one that it replaces can be in the scope.
 */
bool scope_may_have(const struct kernel_scope *scope, const struct nlmsghdr *message);

/*
 * The groups (RTNLGRP_*) whose notifications tell of the scope, and of what its routes need.
 * Returns their number.
 */
enum { SCOPE_GROUPS_MAX = 11 };
size_t scope_groups(const struct kernel_scope *scope, uint32_t groups[static SCOPE_GROUPS_MAX]);
