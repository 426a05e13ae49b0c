/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a new flow, by kind of frontend and by origin. Internal to plan/. */
#pragma once

#include "config/config.h"
#include "model/services/service.h"
#include "plan/nat/nat_table.h"

/* The outcome for one kind of frontend and one origin, of a port whose sets are set. */
struct nat_outcome nat_outcome(const struct config *config, const struct service *service,
                               const struct nat_port *port, enum nat_frontend_kind kind,
                               enum nat_origin origin);
