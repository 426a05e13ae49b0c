/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Troubles: wanted routes that are not in the kernel, because the kernel refuses them or a foreign
 * route is in their slot. Each trouble is a fault of its own. It ends when a later pass finds the
 * slot in order.
 */
#pragma once

#include <stdbool.h>

#include "base/sorted.h"
#include "plan/routes/route_table.h"
#include "status/fault_book.h"

struct troubles {
    struct sorted slots; /* struct trouble, by slot */
    struct fault_book *faults;
};

void troubles_init(struct troubles *troubles, struct fault_book *faults);
void troubles_done(struct troubles *troubles);

/* Begins a pass: a trouble in one of `slots` ends with the pass unless it is raised again. */
void troubles_examine(struct troubles *troubles, const struct route *slots, size_t count);
void troubles_examine_all(struct troubles *troubles);
/* The kernel refused; `text` is its extended ack, or "". */
void troubles_refused(struct troubles *troubles, const struct route_op *op, int error,
                      const char *text);
/* A foreign route is in the slot of `wanted`; `links` name interfaces. */
void troubles_blocked(struct troubles *troubles, const struct route *wanted,
                      const struct route *foreign, const struct sorted *links);
/* Ends the pass: troubles that were examined and not raised again are over. */
void troubles_settle(struct troubles *troubles);

/* The number of troubles that the kernel's refusal made; with false, that a foreign route made. */
size_t troubles_count(const struct troubles *troubles, bool refused);
/* Whether a route of this address alone has one, in whatever table. Goes through all of them. */
bool troubles_at(const struct troubles *troubles, const struct ip *address);
/* Goes through the slots that the kernel refused; `*index` is 0 at first. False: no further. */
bool troubles_next_refused(const struct troubles *troubles, size_t *index, struct route *ret_slot);
