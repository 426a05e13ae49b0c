/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks in the configuration that contradict each other, or the cluster's objects: ranges may
 * have been entered by hand, or copied from another cluster's file. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/fault.h"
#include "config/config.h"
#include "store/store.h"

/*
 * Whether an added, deleted or changed Service may be part of a fault: it has a ClusterIP outside
 * services.serviceCIDRs.
 */
bool network_conflicts_concern(const struct config *config, const struct object *object);

/*
 * Adds a fault for each configuration key with wrong networks, with the first example. `own`: this
 * node's pod networks, by its blocks and podCIDRs. Returns whether a fault about ClusterIPs was
 * added, which a change of any Service may end.
 */
bool network_conflicts(const struct store *store, const struct config *config,
                       const prefix_list *own, struct faults *faults);
