/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents for load balancers outside the cluster: under keys, as kube-service-exporter writes
 * them into Consul's KV. One for each port of an exported Service, and one list of nodes.
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"
#include "plan/export/export_plan.h"
#include "store/store.h"

/*
 * The complete plan. Refusals, and errors that do not refuse a Service, are added to `faults`.
 * Returns 0 or -ENOMEM.
 */
int plan_export(const struct export_config *config, const struct store *store, int64_t now_wall_ms,
                struct export_plan *ret_plan, struct faults *faults);

/* The same with ids only: documents have an empty value, and there is no list of nodes. For the
 * services of Consul's own agents (agent_services.h). */
int plan_export_ids(const struct export_config *config, const struct store *store,
                    struct export_plan *ret_plan, struct faults *faults);

/* Adds a fault for each setting that the planner could not use: a selector, a template. */
void plan_export_check(const struct export_config *config, struct faults *faults);
