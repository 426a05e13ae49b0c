/* SPDX-License-Identifier: Apache-2.0 */
/* Hold-down of the addresses that the routes engine has withdrawn. */
#pragma once

#include "engine/routes/route_state.h"

/*
 * Starts or ends the hold-down of an address whose row was `before` and is now `after`; either is
 * NULL where there is no row. Returns 0 or -ENOMEM.
 */
int route_holds_follow(struct route_engine *engine, const struct ip *address,
                       const struct address_row *before, const struct address_row *after,
                       int64_t now_ms);

/* When the next hold-down ends (monotonic); INT64_MAX: there is none. */
int64_t route_holds_next(const struct route_engine *engine, int64_t now_ms);

/* Appends the addresses whose hold-down is over, and forgets idle ones. Returns 0 or -ENOMEM. */
int route_holds_take_due(struct route_engine *engine, int64_t now_ms, ip_list *addresses);
