/* SPDX-License-Identifier: Apache-2.0 */
/* Hold-down of the addresses that the route engine has withdrawn. */
#pragma once

#include "engine/routes/route_state.h"

/*
 * Keeps the hold-down of an address in step with its announcement: its row was `before` and is
 * `after`, either NULL where there is none. Returns 0 or -ENOMEM.
 */
int route_holds_follow(struct route_engine *engine, const struct ip *address,
                       const struct address_row *before, const struct address_row *after,
                       int64_t now_ms);

/* When the next held address may come back; INT64_MAX: none is held. */
int64_t route_holds_next(const struct route_engine *engine, int64_t now_ms);

/* Appends the addresses whose hold ended by now, and forgets idle holds. Returns 0 or -ENOMEM. */
int route_holds_take_due(struct route_engine *engine, int64_t now_ms, ip_list *addresses);
