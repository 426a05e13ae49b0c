/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hold-down: an address that was withdrawn is not announced again at once. The route engine keeps
 * one state per address and updates it at each announcement and withdrawal; the planner only reads
 * it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "config/config.h"

/*
 * Hold-down of one address: withdrawn at once, announced again after a delay. It exists from the
 * first withdrawal until the address has not changed for routes.holdDown.max.
 */
struct hold {
    struct ip address;
    int64_t announced_ms; /* since when it is announced again; 0: it is not */
    int64_t until_ms;     /* not announced before */
    int64_t delay_ms;     /* of the last withdrawal; doubles, up to routes.holdDown.max */
};
int hold_cmp(const void *a, const void *b);

/* The state after a withdrawal, and after the address is announced again. */
void hold_withdraw(struct hold *hold, const struct config *config, int64_t now_ms);
void hold_announce(struct hold *hold, int64_t now_ms);
/* True if the state has no effect, so that it can be dropped. */
bool hold_is_idle(const struct hold *hold, const struct config *config, int64_t now_ms);
