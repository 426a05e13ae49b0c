/* SPDX-License-Identifier: Apache-2.0 */
/* What an explanation says of an address that one node of a segment has at a time. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* Whether the address is claimed: "claim", with the words for people; else NULL. */
const char *claim_knows_address(const struct api_state *state, const struct ip *ip,
                                const char **ret_text);

/* The member "claim": as in an AddressList, or null. */
void write_claim_explanation(struct json *json, const struct api_state *state, const struct ip *ip);
