/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's document about exports: what is told to load balancers outside, and where. */
#pragma once

#include "api/view.h"
#include "api/view_controller.h"
#include "format/json.h"

/* The member "exports" of a Plan: null where they are not planned. */
void write_planned_exports(struct json *json, const struct planned_exports *exports);

/* GET /v1/exports: each document with where it stands, since when and how; and who is refused. */
void view_exports(const struct controller_state *state, struct text *out);
