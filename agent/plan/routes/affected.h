/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a changed object to the units of the route plan that must be planned again. This keeps the
 * work in proportion to the change.
 */
#pragma once

#include "plan/facts.h"

/*
 * The addresses whose rows a change of an object can alter; `ret_all` becomes true if it can be
 * any (this node's own Node object). Appends to `addresses`, duplicates possible.
 */
int plan_affected_addresses(const struct node_facts *facts, const struct change *change,
                            ip_list *addresses, bool *ret_all);

/* True if the change is one of a block that is, or was, this node's. */
bool plan_affected_blocks(const struct node_facts *facts, const struct change *change);
