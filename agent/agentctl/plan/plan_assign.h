/* SPDX-License-Identifier: Apache-2.0 */
/* LoadBalancer addresses out of pools, for `agentctl plan`. */
#pragma once

#include "base/text.h"
#include "config/config.h"
#include "format/doc.h"
#include "plan/pools/assignment.h"

/*
 * Gives addresses to the Services of the store, and puts them there as their status. What their
 * status has already is held. Without any pool nothing changes. Returns 0 or -ENOMEM.
 */
int assign_addresses(const struct config *config, struct store *store, struct pool_table *pools,
                     struct assignments *assignments, struct faults *faults);

/* For people: "pools:" and "assigned:" of a Plan; nothing where there are no pools. */
void add_pools(struct text *out, const struct doc *plan);
