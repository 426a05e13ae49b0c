/* SPDX-License-Identifier: Apache-2.0 */
/* The times by which leases (lease.h) go; pure. */
#pragma once

#include <stdint.h>

/* Milliseconds; alike on all nodes but for the duration, which each record names. */
struct lease_rules {
    int64_t duration_ms; /* whole seconds, 4 s to 5 min */
    int64_t early_ms;    /* the address is gone so much before: holds a kernel's whole seconds, and
                            that it removes addresses up to 0.6 s late */
    int64_t late_ms;     /* others wait so much longer: clocks go at different rates */
    int64_t step_ms;     /* between two ranks, at least */
    int64_t step_most_ms;
    int64_t retry_ms; /* of the first failure */
};

/* With 10 s, 1 s, 250 ms, 40 to 250 ms and 250 ms. */
extern const struct lease_rules lease_rules_default;

/* What is wrong with the rules, in words; NULL: nothing. */
const char *lease_rules_error(const struct lease_rules *rules);

/* For how long a right that was just sent for can be of use: the kernel counts in whole seconds. */
int64_t lease_useful_ms(const struct lease_rules *rules);

/* How long a write may take so that the address can be kept; see lease.h. */
int64_t lease_keepable_ms(const struct lease_rules *rules);
