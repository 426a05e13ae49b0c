/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failed routes: wanted routes that are not in the kernel, because the kernel refuses them or a
 * foreign route is in their slot. Each failed route is a fault of its own. It ends when a later
 * pass finds the slot in order.
 */
#pragma once

#include <stdbool.h>

#include "base/sorted.h"
#include "plan/routes/route_table.h"
#include "status/fault_book.h"

struct failed_routes {
    struct sorted slots; /* struct failed route, by slot */
    struct fault_book *faults;
};

void failed_routes_init(struct failed_routes *failed_routes, struct fault_book *faults);
void failed_routes_done(struct failed_routes *failed_routes);

/* Begins a pass: a failed route in one of `slots` ends with the pass unless it is raised again. */
void failed_routes_examine(struct failed_routes *failed_routes, const struct route *slots,
                           size_t count);
void failed_routes_examine_all(struct failed_routes *failed_routes);
/* The kernel refused the route; `text` is its extended ack, or "". */
void failed_routes_refused(struct failed_routes *failed_routes, const struct route_op *op,
                           int error, const char *text);
/* A foreign route is in the slot of `wanted`; `links` name interfaces. */
void failed_routes_blocked(struct failed_routes *failed_routes, const struct route *wanted,
                           const struct route *foreign, const struct sorted *links);
/* Ends the pass: failed routes that were examined and not raised again are over. */
void failed_routes_settle(struct failed_routes *failed_routes);

/* The number of failed routes caused by a refusal of the kernel; with false, caused by a foreign
 * route. */
size_t failed_routes_count(const struct failed_routes *failed_routes, bool refused);
/* Whether a route of exactly this address failed, in any table. Walks all of them. */
bool failed_routes_at(const struct failed_routes *failed_routes, const struct ip *address);
/* Iterates over the slots that the kernel refused; `*index` is 0 at first. False: the end. */
bool failed_routes_next_refused(const struct failed_routes *failed_routes, size_t *index,
                                struct route *ret_slot);
