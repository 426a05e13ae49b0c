/* SPDX-License-Identifier: Apache-2.0 */
/* Logs one line for each fault that is raised, cleared, or whose message changes. */
#pragma once

#include "status/fault_book.h"

/*
 * A watcher of the fault book (fault_watcher), for programs that log; `context` is not used. In the
 * journal a raised fault of the catalogue has its own MESSAGE_ID, beside that of all faults, and
 * FAULT_CODE and SEVERITY. Severity notice is logged at level notice, degraded at warning, failed
 * at error; a cleared fault at notice; a changed message at info.
 */
void fault_log(enum fault_change change, const struct known_fault *fault, void *context);
