/* SPDX-License-Identifier: Apache-2.0 */
/* The source and the writes in the status documents of the agent and of the controller. */
#pragma once

#include "format/json.h"
#include "status/status.h"
#include "store/store.h"

/* An item of "sources"; `copy` NULL: none is kept. */
void write_source(struct json *json, const struct source_status *source,
                  const struct copy_status *copy, const struct store *store);

/* "writes": what is being written to the API, and what waits and why. */
void write_writes(struct json *json, const struct write_status *writes);
