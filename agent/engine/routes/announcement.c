// SPDX-License-Identifier: Apache-2.0
/*
 * What is told is what the kernel has done, not what was planned: an address counts as announced
 * when its route stands. So an agent that starts over standing routes says nothing of them, and a
 * refused route is a fault and no announcement. Repairs of drift are told by reconcile.c.
 */
#include "engine/routes/announcement.h"

#include "base/event.h"

enum { TOLD = 20 }; /* of one pass: the start of a node is one line more, not thousands */

/* Why the plan, which is in force by now, has no route for the address. */
static const char *withdrawal_reason(const struct route_plan *plan, const struct route *route)
{
    if (route->protocol == ROUTE_PROTOCOL_BLOCK)
        return "a block that this node announces no more";
    struct address_row key = { .address = route->prefix.ip }, *key_ptr = &key;
    struct address_row *const *row = sorted_find(&plan->addresses, &key_ptr);
    return row ? address_reason_text((*row)->reason) : "no service names it any more";
}

void announcement_log(const struct route_plan *plan, const struct route_op *op, uint32_t *count)
{
    char prefix[PREFIX_STRLEN];
    if (op->kind == OP_REPLACE || ++*count > TOLD)
        return;
    prefix_str(&op->route.prefix, prefix);
    if (op->kind == OP_ADD)
        log_event(&event_announced, LOG_FIELDS({ "PREFIX", prefix }), "%s: announced", prefix);
    else
        log_event(&event_withdrawn, LOG_FIELDS({ "PREFIX", prefix }), "%s: withdrawn: %s", prefix,
                  withdrawal_reason(plan, &op->route));
}

void announcement_finish(uint32_t count)
{
    if (count > TOLD)
        log_notice("and %u more came or went", count - TOLD);
}
