/* SPDX-License-Identifier: Apache-2.0 */
/* What NAT does now, as Status, Diff and Verification show it. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* "nat" of a Status. */
void write_nat_status(struct json *json, const struct api_state *state);
/* Items of a Verification, as "items" or "nat". Returns their number. */
size_t write_nat_differences(struct json *json, const char *key, const struct api_state *state);
