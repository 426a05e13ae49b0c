/* SPDX-License-Identifier: Apache-2.0 */
/* What NAT has to say of one address. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* "nat" of an Explanation. */
void write_nat_explanation(struct json *json, const struct api_state *state,
                           const struct explain_query *query);
/* Why an address that is in no route's row is known to NAT all the same; NULL: it is not. */
const char *nat_knows_address(const struct api_state *state, const struct ip *address,
                              const char **ret_text);
