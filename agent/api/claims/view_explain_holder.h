/* SPDX-License-Identifier: Apache-2.0 */
/* Who has an address himself, for the document Explanation: a Node, pods. Internal to api/. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* "node" or "pod", and a sentence; NULL: nobody that is known. */
const char *holder_knows_address(const struct api_state *state, const struct ip *address,
                                 const char **ret_text);

/* "holder": null where nobody that is known has the address. */
void write_holder(struct json *json, const struct api_state *state, const struct ip *address);

/* The first address of a Node or a Pod by its name. False: no such object, or it has none. */
bool holder_address_of_node(const struct api_state *state, const char *name, struct ip *ret_ip);
bool holder_address_of_pod(const struct api_state *state, const char *namespaced,
                           struct ip *ret_ip);
