/* SPDX-License-Identifier: Apache-2.0 */
/* Hold-down of the addresses that the routes engine has withdrawn, and the times at which addresses
 * are left to other nodes. */
#pragma once

#include "engine/routes/route_state.h"

/*
 * An announced address that is to be left to other nodes at a given time (address_row.h). By
 * address.
 */
struct leaving {
    struct ip address;
    int64_t due_ms;
};
int leaving_cmp(const void *a, const void *b);

/*
 * Starts or ends the hold-down of an address whose row was `before` and is now `after`; either is
 * NULL where there is no row. Returns 0 or -ENOMEM.
 */
int route_holds_follow(struct route_engine *engine, const struct ip *address,
                       const struct address_row *before, const struct address_row *after,
                       int64_t now_ms);

/*
 * When the next hold-down ends, or the next address is left to other nodes (monotonic); INT64_MAX:
 * neither.
 */
int64_t route_holds_next(const struct route_engine *engine, int64_t now_ms);

/* Appends the addresses whose hold-down is over or that are left to other nodes now, and forgets
 * idle ones. Returns 0 or -ENOMEM. */
int route_holds_take_due(struct route_engine *engine, int64_t now_ms, ip_list *addresses);
