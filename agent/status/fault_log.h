/* SPDX-License-Identifier: Apache-2.0 */
/* One line of the log for each fault that comes, goes, or says something else. */
#pragma once

#include "status/fault_book.h"

/*
 * A watcher of the book (fault_watcher), for programs that log; `context` is not used. In the
 * journal a fault of the catalogue has its own MESSAGE_ID when it is raised, beside that of all
 * faults, and FAULT_CODE and SEVERITY. Notices are logged as such, degraded as warnings, failed as
 * errors; what is over, as a notice; another
 * message of a fault that goes on, as information.
 */
void fault_log(enum fault_change change, const struct known_fault *fault, void *context);
