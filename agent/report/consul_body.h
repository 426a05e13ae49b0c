/* SPDX-License-Identifier: Apache-2.0 */
/* The body that registers a service of this node at the Consul agent: name, port, tags, checks.
 * Pure. */
#pragma once

#include "base/text.h"
#include "config/config.h"
#include "plan/export/agent_services.h"

/* Adds the registration of a service as JSON to `body`, whose error is set if memory was short. */
void consul_body(const struct config *config, const struct agent_service *service,
                 struct text *body);
