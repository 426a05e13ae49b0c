/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass: tells the engines what changed among objects and in the kernel, and calls their
 * operations stage by stage. The schedule (schedule.h) decides when a pass runs, and whether it is
 * over everything.
 */
#pragma once

#include "apply/mirror/kernel.h"
#include "engine/engines.h"
#include "store/store.h"

/*
 * Runs one round. The caller has set the members of the round that the schedule is to say, and
 * calls round_done() afterwards. `ret_writer` is the netlink port of the program that changed
 * something of ours, 0 if none did. Returns 0 or -errno, as in round->error.
 */
int pass_run(struct engines *engines, struct store *store, struct kernel *kernel,
             struct round *round, uint32_t *ret_writer);
