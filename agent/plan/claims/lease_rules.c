// SPDX-License-Identifier: Apache-2.0
/* See lease_rules.h. */
#include "plan/claims/lease_rules.h"

#include <stddef.h>

#include "base/clock.h"

enum {
    SHORTEST_MS =
        4000, /* below this a third of it and a kernel's whole second leave no time to renew */
    LONGEST_MS = 300000,
    KEEPABLE_PERCENT = 40, /* of the time in which two writes need their responses */
};

const struct lease_rules lease_rules_default = {
    .duration_ms = 10000,
    .early_ms = 1000,
    .late_ms = 250,
    .step_ms = 40,
    .step_most_ms = 250,
    .retry_ms = 250,
};

const char *lease_rules_error(const struct lease_rules *rules)
{
    if (rules->duration_ms < SHORTEST_MS || rules->duration_ms > LONGEST_MS)
        return "the duration of a claim must be between 4 s and 5 min";
    if (rules->duration_ms % SECOND_MS != 0)
        return "the duration of a claim must be whole seconds: a Lease counts in these";
    if (rules->early_ms < SECOND_MS || rules->early_ms > rules->duration_ms / 4)
        return "an address must be gone at least 1 s before its claim ends, and at most a quarter";
    if (rules->late_ms < 0 || rules->step_ms < 0 || rules->retry_ms < 1)
        return "times must not be negative";
    if (rules->step_most_ms < rules->step_ms)
        return "ranks can't be further apart than they may be";
    return NULL;
}

int64_t lease_useful_ms(const struct lease_rules *rules)
{
    return rules->duration_ms - rules->early_ms - SECOND_MS;
}

int64_t lease_keepable_ms(const struct lease_rules *rules)
{
    return lease_useful_ms(rules) * KEEPABLE_PERCENT / 100;
}
