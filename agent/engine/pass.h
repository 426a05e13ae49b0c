/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass: takes in what the objects and the kernel have become, and leads every engine through
 * the stages. The schedule (schedule.h) decides when, and whether over everything.
 */
#pragma once

#include "apply/kernel.h"
#include "engine/engines.h"
#include "store/store.h"

/*
 * Runs one round, whose first members the caller has set; ends with round_done() by the caller.
 * `ret_writer` is the netlink port of who changed something of ours, 0 if nobody did.
 * Returns 0 or -errno, as in round->error.
 */
int pass_run(struct engines *engines, struct store *store, struct kernel *kernel,
             struct round *round, uint32_t *ret_writer);
