/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of this host's interfaces that prevent claimed addresses: the interface of their network
 * is down, or is a port of a bridge or similar, or another interface also has the address, as
 * keepalived and hardened images leave one on lo. The latter answers for the address even if
 * another node has the claim.
 *
 * Pure. Called by the agent after each pass.
 */
#pragma once

#include "base/fault.h"
#include "plan/claims/holdings.h"
#include "plan/facts.h"

/* Adds the faults of these claims, by their current plan. */
void plan_holding_faults(const struct node_facts *facts, const holding_list *list,
                         struct faults *faults);
