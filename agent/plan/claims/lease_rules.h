/* SPDX-License-Identifier: Apache-2.0 */
/* The timing parameters of leases (lease_state.h); pure. */
#pragma once

#include <stdint.h>

/* Milliseconds; equal on all nodes except the duration, which is in each record. */
struct lease_rules {
    int64_t duration_ms; /* whole seconds, 4 s to 5 min */
    int64_t early_ms;    /* the address is removed this long before the lease expires: covers the
                            kernel's whole seconds, and its removal of addresses up to 0.6 s late */
    int64_t late_ms;     /* others wait this much longer, since clocks run at different rates */
    int64_t step_ms;     /* least time between two ranks */
    int64_t step_most_ms;
    int64_t retry_ms; /* of the first failure */
};

/* With 10 s, 1 s, 250 ms, 40 to 250 ms and 250 ms. */
extern const struct lease_rules lease_rules_default;

/* The error in the rules, as text; NULL: none. */
const char *lease_rules_error(const struct lease_rules *rules);

/* How long a lease is usable when the request was just sent: the kernel counts in whole seconds. */
int64_t lease_useful_ms(const struct lease_rules *rules);

/* The longest time of a write with which an address can be kept; see lease_state.h. */
int64_t lease_keepable_ms(const struct lease_rules *rules);
