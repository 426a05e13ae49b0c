/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks in the configuration that contradict each other, or what the cluster has: a cluster's
 * ranges were written down by hand, or copied from another cluster's file. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/fault.h"
#include "config/config.h"
#include "store/store.h"

/* Whether a Service that came, went or changed may be told of: it has a ClusterIP that is in none
 * of services.serviceCIDRs. */
bool network_conflicts_concern(const struct config *config, const struct object *object);

/*
 * Adds a fault for each key of networks that can't be right, with the first that shows it. `own`:
 * this node's networks of pods, by its blocks and podCIDRs. Returns whether ClusterIPs are told, so
 * that any other Service may end that fault.
 */
bool network_conflicts(const struct store *store, const struct config *config,
                       const prefix_list *own, struct faults *faults);
