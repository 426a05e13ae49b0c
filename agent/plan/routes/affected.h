/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which units of the route plan must be planned again after an object changes. This keeps the work
 * proportional to the change.
 */
#pragma once

#include "plan/facts.h"

/*
 * The addresses whose rows a change of an object can alter; `ret_all` is set to true if every row
 * may change (this node's own Node object). Appends to `addresses`, duplicates possible.
 */
int plan_affected_addresses(const struct node_facts *facts, const struct change *change,
                            ip_list *addresses, bool *ret_all);

/* True if the change is about a block that is, or was, this node's. */
bool plan_affected_blocks(const struct node_facts *facts, const struct change *change);
