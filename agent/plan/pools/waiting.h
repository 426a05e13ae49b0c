/* SPDX-License-Identifier: Apache-2.0 */
/* Services that wait for a load balancer address. Pure. */
#pragma once

#include "config/config.h"
#include "model/services/service.h"

/*
 * True if this node would announce a load balancer address of the Service, and it has none, nor an
 * external IP instead. False for Services of another load balancer or proxy; where this agent
 * allocates addresses itself, plan/pools/assignment.h reports what is missing.
 */
bool plan_service_waits(const struct config *config, const struct service *service);
