/* SPDX-License-Identifier: Apache-2.0 */
/* What egress has to do with an address, for the document Explanation. Internal to api/. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* As what egress knows the address: "egress-pod", "egress-gateway", "egress-client", and a
 * sentence; NULL: not at all, or egress is off. */
const char *egress_knows_address(const struct api_state *state, const struct ip *address,
                                 const char **ret_text);

/* "egress": null where it does not know the address. */
void write_egress_explanation(struct json *json, const struct api_state *state,
                              const struct ip *address);
