/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of this machine's interfaces stands in the way of claimed addresses: the interface of their
 * network is down, or a port of a bridge or the like, or an interface that has nothing to do with
 * it has the address as well, as keepalived and hardened images leave one on lo. That one answers
 * whoever has the claim.
 *
 * Pure. Called by the agent after each pass.
 */
#pragma once

#include "base/fault.h"
#include "plan/claims/holdings.h"
#include "plan/facts.h"

/* Adds the faults of these claims, as they are planned now. */
void plan_holding_faults(const struct node_facts *facts, const holding_list *list,
                         struct faults *faults);
