/* SPDX-License-Identifier: Apache-2.0 */
/* What an explanation says of an address of a pool, where this program gives addresses. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* "pool-free" and the like, and words for it; NULL: it is of no pool, or nobody knows. */
const char *pool_knows_address(const struct api_state *state, const struct ip *ip,
                               const char **ret_text);

/* The member "pool": an object, or null. */
void write_pool_explanation(struct json *json, const struct api_state *state, const struct ip *ip);
