/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel routes and rules of a plan, per row and in total. */
#pragma once

#include "plan/routes/route_table.h"
#include "plan/routes/routes.h"

/* The routes of a row, in order of route_cmp(); at most two. Return their number. */
int address_routes(const struct config *config, const struct route_plan *plan,
                   const struct address_row *row, struct route ret_routes[static 2]);
int block_routes(const struct config *config, const struct block_row *row,
                 struct route ret_routes[static 2]);

/* The route of a network. */
struct route net_route(const struct route_plan *plan, const struct net_row *row);

/* The route to another node's block; false: it is not routed. */
bool direct_route(const struct direct_row *row, struct route *ret_route);

/* The route that the plan wants in a slot (table, prefix, metric), if any. */
bool plan_wanted_route(const struct config *config, const struct route_plan *plan,
                       const struct route *slot, struct route *ret_route);

typedef VEC(struct route) route_list;
typedef VEC(struct rule) rule_list;

/* All routes, sorted by route_cmp(), and all rules of a plan. Return 0 or -ENOMEM. */
int plan_route_list(const struct config *config, const struct route_plan *plan,
                    route_list *ret_routes);
int plan_rule_list(const struct route_plan *plan, rule_list *ret_rules);
