/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of the controller's writes about blocks, as JSON, identical to those of Coil's
 * controller where Coil's nodes read them. Pure; errors stick in the text.
 */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "model/block_request.h"
#include "plan/pods/block_table.h"

/*
 * A merge patch of a request's status, with a wall clock time: the block that it gets, or NULL: its
 * pool has no free block. The API refuses it if the request has changed.
 */
void write_answer(const struct block_request *request, const char *block, int64_t now_wall_ms,
                  struct text *body);
