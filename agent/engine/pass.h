/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass: notifies the engines of changes of objects and of the kernel, and calls their
 * operations stage by stage. The schedule (schedule.h) decides when a pass runs, and whether it is
 * over everything.
 */
#pragma once

#include "apply/mirror/kernel.h"
#include "engine/engines.h"
#include "store/store.h"

/*
 * Runs one round. The caller has set the schedule's members of the round, and calls round_done()
 * afterwards. `ret_writer` is the netlink port of the program that changed something of ours, 0 if
 * none did. Returns 0 or -errno, as in round->error.
 */
int pass_run(struct engines *engines, struct store *store, struct kernel *kernel,
             struct round *round, uint32_t *ret_writer);
