// SPDX-License-Identifier: Apache-2.0
/* See lease_pause.h. Called by lease_state.c. */
#include "plan/claims/lease_pause.h"

#include "base/clock.h"
#include "base/macro.h"

enum {
    CONFLICT_MS = 1,       /* after a first conflict */
    UNANSWERED_MOST = 700, /* with a probe after it, an address is back a second after the store */
    REFUSED_MOST = 5000,
    JITTER_PERCENT = 20,
    CHANCE_MS = 500, /* for a read and a write, beside the store's last response time */
};

static int64_t part(int64_t ms, uint32_t random)
{
    return (int64_t)((uint64_t)(ms * JITTER_PERCENT / 100) * random >> 32);
}

static int64_t longer(const struct lease *lease, enum lease_failing kind, int64_t before_ms)
{
    const int64_t refused_most = MIN(lease->rules.duration_ms / 2, REFUSED_MOST);
    const int64_t first = kind == LEASE_CONFLICT ? CONFLICT_MS : lease->rules.retry_ms;
    const int64_t most = kind == LEASE_UNANSWERED ? UNANSWERED_MOST : refused_most;
    return MIN(MAX(2 * before_ms, first), most);
}

/* Until the last time at which a response is useful to the current holder. */
static int64_t chance_ms(const struct lease *lease, int64_t left_ms)
{
    const int64_t took_ms = MIN(2 * lease->took_ms, lease_keepable_ms(&lease->rules));
    return left_ms - SECOND_MS - CHANCE_MS - took_ms;
}

int64_t lease_pause(const struct lease *lease, const struct lease_failure *failure, int64_t left_ms,
                    int64_t *pause_ms)
{
    const int64_t after_ms = failure->retry_after_ms;
    const int64_t chance = chance_ms(lease, left_ms);
    *pause_ms = longer(lease, failure->kind, *pause_ms);
    int64_t pause = *pause_ms - part(*pause_ms, lease->random);
    pause = MAX(pause, after_ms + part(after_ms, lease->random));
    if (chance >= lease->rules.retry_ms && pause > chance)
        pause = chance - part(chance, lease->random);
    return pause;
}
