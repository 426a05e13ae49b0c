/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates an existing egress plan for pods that were added, changed or deleted: work proportional
 * to the change.
 */
#pragma once

#include "plan/egress/egress_affected.h"

/*
 * Plans the addresses of `touched` again, in a plan that is otherwise up to date with the store.
 * Returns 1; 0: that is not sufficient, since a policy is added or deleted, or pods have or had
 * faults: everything has to be planned, and rows of the plan may have changed already; -ENOMEM.
 */
int plan_egress_rows(const struct node_facts *facts, const struct egress_touched *touched,
                     struct egress_plan *plan);
