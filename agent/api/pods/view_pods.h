/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of this node, and how full its blocks are, for other documents too. Internal to api/. */
#pragma once

#include "api/view.h"
#include "format/json.h"

/* "pod interface": the interface of a pod of this node that has the address, as in PodList; null:
 * none. */
void write_pod_interface(struct json *json, const struct api_state *state,
                         const struct ip *address);

/* "size" and "used" of a block by its name; null where this agent gives no addresses. */
void write_block_fill(struct json *json, const struct api_state *state, const char *block);
