/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes that are wanted but do not stand: refused by the kernel, or kept out by a foreign route
 * in their slot. Each is a fault of its own, and goes when a later pass finds the slot in order.
 */
#pragma once

#include <stdbool.h>

#include "base/sorted.h"
#include "plan/route_table.h"
#include "status/fault_book.h"

struct troubles {
    struct sorted slots; /* struct trouble, by slot */
    struct fault_book *faults;
};

void troubles_init(struct troubles *troubles, struct fault_book *faults);
void troubles_done(struct troubles *troubles);

/* Begins a pass: every trouble in `slots` (NULL: every one) is settled unless raised again. */
void troubles_examine(struct troubles *troubles, const struct route *slots, size_t count);
void troubles_examine_all(struct troubles *troubles);
/* The kernel refused; `text` is its extended ack, or "". */
void troubles_refused(struct troubles *troubles, const struct route_op *op, int error,
                      const char *text);
/* A foreign route stands where `wanted` should. */
void troubles_blocked(struct troubles *troubles, const struct route *wanted,
                      const struct route *foreign);
/* Ends the pass: what was examined and not raised again is cleared. */
void troubles_settle(struct troubles *troubles);

/* The slots that the kernel refused, to be tried again. */
size_t troubles_count(const struct troubles *troubles, bool refused);
bool troubles_next_refused(const struct troubles *troubles, size_t *index, struct route *ret_slot);
