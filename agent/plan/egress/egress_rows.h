/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that come, go and change, in a plan of egress that stands: work by the change. */
#pragma once

#include "plan/egress/egress_affected.h"

/*
 * Plans the addresses of `touched` again, in a plan in which all else is as the store has it.
 * Returns 1; 0: that is not enough, for a policy comes or goes, or there is
 * or was something to tell of pods: all has to be planned, and rows of the plan may have changed
 * already; -ENOMEM.
 */
int plan_egress_rows(const struct node_facts *facts, const struct egress_touched *touched,
                     struct egress_plan *plan);
