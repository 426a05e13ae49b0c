// SPDX-License-Identifier: Apache-2.0
/*
 * Hold-down: a withdrawn address is announced again only after a delay, so that a flapping probe
 * cannot flap BGP. The delay doubles with each withdrawal that follows within routes.holdDown.max
 * of the last announcement, up to that maximum; an address that stayed announced, or withdrawn, for
 * that long starts with the initial delay.
 *
 * Called by the route engine when an address is announced or withdrawn; owns nothing.
 */
#include "plan/routes/hold.h"

#include "base/macro.h"

int hold_cmp(const void *a, const void *b)
{
    return ip_cmp(&((const struct hold *)a)->address, &((const struct hold *)b)->address);
}

void hold_withdraw(struct hold *hold, const struct config *config, int64_t now_ms)
{
    bool afresh = hold->delay_ms == 0 || hold_is_idle(hold, config, now_ms);
    hold->delay_ms = afresh ? config->routes.hold_initial_ms
                            : MIN(hold->delay_ms * 2, config->routes.hold_max_ms);
    hold->until_ms = now_ms + hold->delay_ms;
    hold->announced_ms = 0;
}

void hold_announce(struct hold *hold, int64_t now_ms)
{
    hold->announced_ms = now_ms;
}

bool hold_is_idle(const struct hold *hold, const struct config *config, int64_t now_ms)
{
    int64_t quiet_since = hold->announced_ms ? hold->announced_ms : hold->until_ms;
    return now_ms - quiet_since >= config->routes.hold_max_ms;
}
