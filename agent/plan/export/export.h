/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What load balancers outside the cluster are told: documents under keys, as kube-service-exporter
 * has them in Consul's KV. One for each port of an exported Service, and one list of nodes.
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"
#include "plan/export/export_plan.h"
#include "store/store.h"

/*
 * The plan of everything. `faults` gets the refusals, and what is wrong without refusing a Service.
 * Returns 0 or -ENOMEM.
 */
int plan_export(const struct export_config *config, const struct store *store, int64_t now_wall_ms,
                struct export_plan *ret_plan, struct faults *faults);

/* The same of ids alone: documents have an empty value, and there is no list of nodes. For the
 * services of Consul's own agents (agent_services.h). */
int plan_export_ids(const struct export_config *config, const struct store *store,
                    struct export_plan *ret_plan, struct faults *faults);

/* Adds a fault for each setting that the planner could not use: a selector, a template. */
void plan_export_check(const struct export_config *config, struct faults *faults);
