/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scope of a mirror of the kernel's tables: which routes, whether rules and links, and which
 * addresses. Each mirror (kernel.h) is opened with a scope, and reports nothing else.
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
    uint32_t export_table; /* determines which routes are ours: see base/ours.h */
    bool rules;            /* all but the three standard ones */
    bool links;       /* all; reports filters of clsact that are deleted, or added before ours */
    bool addresses;   /* of interfaces, with their networks */
    bool paths;       /* networks by outgoing interface, of all tables (paths.h); with links */
    uint32_t ifindex; /* the interface of the addresses; 0: all interfaces */
};

/*
 * The scope of agentd's engines: all routes of the export and the guard table; in main, guards,
 * routes to blocks and pods, and anyone's blackholes; rules, links and addresses.
 */
struct kernel_scope scope_of_node(uint32_t export_table);

/* Adds the routes of a table, with one protocol number or (0) any, and of any type, once.
 * Returns 0, or -ENOSPC. */
int scope_add_routes(struct kernel_scope *scope, uint32_t table, uint8_t protocol);

/*
 * True for a route that this program wrote: by base/ours.h, or because the scope has the routes of
 * its table with this protocol number.
 */
bool scope_is_own(const struct kernel_scope *scope, const struct route *route);

/* True if the route is in the scope. */
bool scope_has_route(const struct kernel_scope *scope, const struct route *route);
/* True if the scope has any routes of this table. */
bool scope_has_table(const struct kernel_scope *scope, uint32_t table);
bool scope_has_whole_table(const struct kernel_scope *scope, uint32_t table);

/*
 * Checks only the fixed part of a route's message, because the main table can have very many
 * notifications. False if neither the route nor one that it replaces can be in the scope.
 */
bool scope_may_have(const struct kernel_scope *scope, const struct nlmsghdr *message);

/*
 * The groups (RTNLGRP_*) whose notifications report changes of the scope, and of objects that its
 * routes need. Returns their number.
 */
enum { SCOPE_GROUPS_MAX = 11 };
size_t scope_groups(const struct kernel_scope *scope, uint32_t groups[static SCOPE_GROUPS_MAX]);
