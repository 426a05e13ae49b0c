/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Service lacks to be served as specified, by its own fields and by related objects. Pure.
 */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "model/services/service.h"
#include "store/store.h"

/*
 * Adds a fault for each lack of a Service that is served here: no clusterIP (with NAT only), a port
 * that no EndpointSlice has though there are endpoints, endpoints that policy Local assigns to no
 * node. Services that wait for an address are in waiting.h. A Service without any endpoint is no
 * fault: pods are added and deleted.
 */
void service_lacks(const struct store *store, const struct config *config,
                   const struct service *service, struct faults *faults);
