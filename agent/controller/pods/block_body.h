/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of what the controller writes about blocks, as JSON, letter for letter what Coil's
 * controller writes where Coil's nodes read it. Pure; errors stick in the text.
 */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "model/block_request.h"
#include "plan/pods/block_table.h"

/*
 * A merge patch of a request's status, as of a wall clock time: the block that it gets, or NULL:
 * its pool is out of blocks. Refused by the API if the request is another by now.
 */
void write_answer(const struct block_request *request, const char *block, int64_t now_wall_ms,
                  struct text *body);
