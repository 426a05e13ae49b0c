// SPDX-License-Identifier: Apache-2.0
/*
 * Exponential backoff with jitter; see backoff.h.
 *
 * agentd retries what the kernel refused, the manifest source looks for a folder that is missing.
 * The jitter keeps the nodes of a cluster from knocking at the same moment after a common failure;
 * the doubling goes by the delay before jitter, so that luck does not add up.
 */
#include "loop/backoff.h"

#include <sys/random.h>

#include "base/macro.h"

enum { JITTER_PERCENT = 20 };

int64_t backoff_jitter(int64_t delay_ms, uint32_t random)
{
    int64_t spread = delay_ms * JITTER_PERCENT / 100;
    return delay_ms - spread + (int64_t)(random % (uint64_t)(2 * spread + 1));
}

int64_t backoff_next(struct backoff *backoff)
{
    if (backoff->delay_ms == 0)
        backoff->delay_ms = MIN(backoff->initial_ms, backoff->max_ms);
    else if (backoff->delay_ms > backoff->max_ms / 2)
        backoff->delay_ms = backoff->max_ms;
    else
        backoff->delay_ms *= 2;

    /* Early in the boot the kernel may have no randomness yet: then without jitter. */
    uint32_t random;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
        return backoff->delay_ms;
    return backoff_jitter(backoff->delay_ms, random);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->delay_ms = 0;
}
