/* SPDX-License-Identifier: Apache-2.0 */
/* NAT's half of a plan: kept up to date change by change, and what must hold of it. */
#pragma once

#include "plan/node_plan.h"
#include "store/store.h"

/* Works changes of the store in. */
void nat_plan_follow(struct node_plan *plan, const struct node_facts *facts,
                     const change_list *changes);

/* The same rows and settings. */
void nat_plan_compare(const struct node_plan *left, const struct node_plan *right);

/* The plan's Services agree among themselves, and with the routes. */
void nat_plan_check(const struct node_plan *plan);
