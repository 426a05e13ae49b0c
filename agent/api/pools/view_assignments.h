/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of LoadBalancer addresses, and who has which, as members of a document. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* Members of an object that is open: what a pool is, and how full. */
void write_pool(struct json *json, const struct api_state *state, const struct pool *pool);

/* What a Service lacks, as a list; empty for NULL. */
void write_lacks(struct json *json, const char *key, const struct assignment *assignment);

/* "pending": every Service that lacks something, or of which the lack is about this address. */
void write_pending(struct json *json, const struct assignments *assignments, const struct ip *ip);

/* "pools" and "assignments"; empty lists where the state has none. */
void write_assignments(struct json *json, const struct api_state *state);
