/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hold-down: the memory that an address was withdrawn, so that it is not announced again at once.
 * The route engine keeps one per address and asks for the new state at each announcement and
 * withdrawal; the planner only reads them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "config/config.h"

/*
 * Hold-down of one address: withdrawn at once, announced again only later. It exists
 * from the first withdrawal until the address has been quiet for routes.holdDown.max.
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
/* True if the state is as good as none, so that it can be forgotten. */
bool hold_is_idle(const struct hold *hold, const struct config *config, int64_t now_ms);
