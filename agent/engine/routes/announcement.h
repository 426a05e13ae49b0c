/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the log which addresses and blocks came into the export table, or left it, and why. */
#pragma once

#include <stdint.h>

#include "plan/route_table.h"
#include "plan/routes.h"

/*
 * Notes an operation on the export table that the kernel has carried out. `*count` is the number
 * of those in this pass, 0 at its start.
 */
void announcement_log(const struct route_plan *plan, const struct route_op *op, uint32_t *count);

/* Ends the pass: says how many were left untold. */
void announcement_finish(uint32_t count);
