/* SPDX-License-Identifier: Apache-2.0 */
/* What a Service lacks to be served as it says, by itself and by the objects it goes with. Pure. */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "model/services/service.h"
#include "store/store.h"

/*
 * Adds a fault for each lack of a Service that is served here: no clusterIP (with NAT only),
 * a port that no EndpointSlice has though there are endpoints, endpoints that policy Local counts
 * on no node. Not what it waits for (waiting.h). No endpoints at all are no lack: pods come and go.
 */
void service_lacks(const struct store *store, const struct config *config,
                   const struct service *service, struct faults *faults);
