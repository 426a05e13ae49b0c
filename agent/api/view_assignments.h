/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of LoadBalancer addresses, and who has which, as members of a document. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* "pools" and "assignments"; empty lists where the state has none. */
void write_assignments(struct json *json, const struct api_state *state);
