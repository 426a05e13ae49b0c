/* SPDX-License-Identifier: Apache-2.0 */
/* Which endpoints the flows of a Service's port may be sent to. Internal to plan/. */
#pragma once

#include "model/services/service.h"
#include "plan/facts.h"
#include "plan/nat/nat_table.h"

/* Fills in both sets of a port of one family, and the serving endpoints. Returns 0 or -ENOMEM. */
int nat_port_sets(const struct node_facts *facts, const struct service *service,
                  const struct service_port *port, uint8_t family, struct nat_port *ret_port);

/* Counts the distinct addresses of ready endpoints on this node. Returns 0 or -ENOMEM. */
int nat_local_ready(const struct node_facts *facts, const struct service *service, uint8_t family,
                    uint32_t *ret_count);
