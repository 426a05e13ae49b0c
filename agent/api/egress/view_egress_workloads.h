/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's document about the gateways that it makes for Egresses. */
#pragma once

#include "api/view_controller.h"

/* GET /v1/egress-workloads: every Egress, its gateways, and what of them can't be made. */
void view_egress_workloads(const struct controller_state *state, struct text *out);
