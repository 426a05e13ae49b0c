/* SPDX-License-Identifier: Apache-2.0 */
/* What Consul's agent is told of a service that this node serves: name, port, tags, checks. Pure.
 */
#pragma once

#include "base/text.h"
#include "config/config.h"
#include "plan/export/agent_services.h"

/* Adds the registration of a service as JSON to `body`, whose error tells of no memory. */
void consul_body(const struct config *config, const struct agent_service *service,
                 struct text *body);
