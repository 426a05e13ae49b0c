/* SPDX-License-Identifier: Apache-2.0 */
/* Services that wait for an address of a load balancer. Pure. */
#pragma once

#include "config/config.h"
#include "model/services/service.h"

/*
 * True if this node would announce an address of a load balancer for the service, and it has none,
 * nor an external IP instead. Services of another balancer or proxy wait for nobody here; where
 * this agent gives addresses itself, its pools say what is missing (plan/pools/assignment.h).
 */
bool plan_service_waits(const struct config *config, const struct service *service);
