/* SPDX-License-Identifier: Apache-2.0 */
/* Logs which addresses and blocks entered or left the export table, and why. */
#pragma once

#include <stdint.h>

#include "plan/routes/route_table.h"
#include "plan/routes/routes.h"

/*
 * Logs an operation on the export table that the kernel has executed. `*count` is the number of
 * such operations in this pass; the caller sets it to 0 at the start.
 */
void announcement_log(const struct route_plan *plan, const struct route_op *op, uint32_t *count);

/* Ends the pass: logs how many operations were not logged one by one. */
void announcement_finish(uint32_t count);
