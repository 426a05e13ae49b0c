/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's documents about pods' blocks: all blocks of the cluster, and who asks for one.
 */
#pragma once

#include "api/view_controller.h"

/* GET /v1/address-blocks: every AddressBlock, and each AddressPool with how full it is. */
void view_cluster_blocks(const struct controller_state *state, struct text *out);

/* GET /v1/block-requests: every BlockRequest, and why one has no answer. */
void view_block_requests(const struct controller_state *state, struct text *out);
