/* SPDX-License-Identifier: Apache-2.0 */
/* Egress in documents. Internal to api/. */
#pragma once

#include "api/view.h"
#include "config/config.h"
#include "format/json.h"
#include "plan/egress/egress.h"

/* "egress" of a Plan: null if there is no plan, or this node has neither side of it. */
void write_egress(struct json *json, const struct config *config, const struct egress_plan *plan);
/* "egress" of Status: counts; null likewise. */
void write_egress_status(struct json *json, const struct api_state *state);
