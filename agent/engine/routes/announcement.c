// SPDX-License-Identifier: Apache-2.0
/*
 * Announcements are logged after the kernel has executed them, not when they are planned: an
 * address counts as announced once its route is in the kernel. So an agent that starts and finds
 * the routes of an earlier agent logs nothing about them, and a route that the kernel refuses is a
 * fault, not an announcement. Repairs of foreign changes are logged by schedule.c.
 */
#include "engine/routes/announcement.h"

#include "base/event.h"

enum { TOLD = 20 }; /* per pass: a node that starts logs one further line, not thousands */

/* Why the plan, which is in force by now, has no route for the address. */
static const char *withdrawal_reason(const struct route_plan *plan, const struct route *route,
                                     char buffer[static REASON_STRLEN])
{
    if (route->protocol == ROUTE_PROTOCOL_BLOCK)
        return "a block that this node announces no more";
    struct address_row key = { .address = route->prefix.ip }, *key_ptr = &key;
    struct address_row *const *row = sorted_find(&plan->addresses, &key_ptr);
    return row ? address_reason_about((*row)->reason, (*row)->of, buffer)
               : "no service names it any more";
}

void announcement_log(const struct route_plan *plan, const struct route_op *op, uint32_t *count)
{
    char prefix[PREFIX_STRLEN], reason[REASON_STRLEN];
    if (op->kind == OP_REPLACE || ++*count > TOLD)
        return;
    prefix_str(&op->route.prefix, prefix);
    if (op->kind == OP_ADD)
        log_event(&event_announced, LOG_FIELDS({ "PREFIX", prefix }), "%s: announced", prefix);
    else
        log_event(&event_withdrawn, LOG_FIELDS({ "PREFIX", prefix }), "%s: withdrawn: %s", prefix,
                  withdrawal_reason(plan, &op->route, reason));
}

void announcement_finish(uint32_t count)
{
    if (count > TOLD)
        log_notice("and %u more came or went", count - TOLD);
}
