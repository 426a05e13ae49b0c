// SPDX-License-Identifier: Apache-2.0
/*
 * Which addresses may not be announced again yet; see route_holds.h. What hold-down is, and how
 * long it lasts, is decided in plan/routes/hold.c. This file keeps the state of each address, and
 * computes when the next hold-down ends. Drain and withdraw start none: they are requested, and are
 * no flapping.
 */
#include "engine/routes/route_holds.h"

#include <errno.h>

#include "base/macro.h"

static bool is_announced(const struct address_row *row)
{
    return row && row->reason == REASON_ANNOUNCED;
}

static int hold_down(struct route_engine *engine, const struct ip *address, int64_t now_ms)
{
    struct hold fresh = { .address = *address };
    struct hold *hold = sorted_find(&engine->holds, &fresh);
    hold_withdraw(hold ? hold : &fresh, engine->config, now_ms);
    return hold ? 0 : sorted_put(&engine->holds, &fresh);
}

int leaving_cmp(const void *a, const void *b)
{
    return ip_cmp(&((const struct leaving *)a)->address, &((const struct leaving *)b)->address);
}

static int follow_leaving(struct route_engine *engine, const struct ip *address,
                          const struct address_row *before, const struct address_row *after)
{
    const struct leaving leaving = { *address, after ? after->leaves_ms : 0 };
    if (leaving.due_ms)
        return sorted_put(&engine->leaving, &leaving);
    if (before && before->leaves_ms)
        sorted_remove(&engine->leaving, &leaving);
    return 0;
}

int route_holds_follow(struct route_engine *engine, const struct ip *address,
                       const struct address_row *before, const struct address_row *after,
                       int64_t now_ms)
{
    int r = follow_leaving(engine, address, before, after);
    if (r < 0 || is_announced(before) == is_announced(after))
        return r;
    if (is_announced(after)) {
        const struct hold key = { .address = *address };
        struct hold *hold = sorted_find(&engine->holds, &key);
        if (hold)
            hold_announce(hold, now_ms);
        return 0;
    }
    if (after && after->reason == REASON_PORTS_ELSEWHERE)
        return 0; /* another node serves it better: this is no flapping */
    return engine->board->standing == STANDING_SERVING ? hold_down(engine, address, now_ms) : 0;
}

int64_t route_holds_next(const struct route_engine *engine, int64_t now_ms)
{
    int64_t next = INT64_MAX;
    sorted_each(const struct hold, hold, &engine->holds) {
        if (hold->announced_ms == 0 && hold->until_ms > now_ms)
            next = MIN(next, hold->until_ms);
    }
    sorted_each(const struct leaving, leaving, &engine->leaving)
        next = MIN(next, leaving->due_ms);
    return next;
}

int route_holds_take_due(struct route_engine *engine, int64_t now_ms, ip_list *addresses)
{
    AUTOSORTED struct sorted kept = SORTED(struct hold, hold_cmp);
    sorted_each(const struct hold, hold, &engine->holds) {
        int r = 0;
        if (hold->announced_ms == 0 && hold->until_ms <= now_ms)
            r = vec_push(addresses, hold->address);
        if (r < 0)
            return r;
        if (!hold_is_idle(hold, engine->config, now_ms))
            r = sorted_put(&kept, hold);
        if (r < 0)
            return r;
    }
    sorted_move(&engine->holds, &kept);
    sorted_each(const struct leaving, leaving, &engine->leaving) {
        if (leaving->due_ms <= now_ms && vec_push(addresses, leaving->address) < 0)
            return -ENOMEM;
    }
    return 0;
}
