/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a lease (lease.h) pauses after a failure; pure.
 *
 * A store that does not answer is asked again soon, and for as long as that lasts: an address is to
 * be back a second after the store. One that says no (rights, quotas, webhooks, too many requests)
 * will say so again, to each claim of each node: pauses are doubled up to half of the duration, or
 * 5 s, and are as long as it asks for. But who has a right to lose asks once more
 * before it ends, while there is time for an answer.
 *
 * After a conflict a reading says what there is, at once; a record that did change ends the pause.
 * Where none did, the store refuses by conflicts. One that says it is done, and leaves the record
 * at its version, refuses as well.
 */
#pragma once

#include "plan/claims/lease_state.h"

enum lease_failing {
    LEASE_UNANSWERED,
    LEASE_CONFLICT,
    LEASE_UNSTORED,
    LEASE_REFUSED,
};

struct lease_failure {
    enum lease_failing kind;
    int64_t retry_after_ms; /* 0: the store does not say; bounded by who has read it */
};

/* `left_ms`: of the right that there is. `pause_ms`: of the failure before, and of this one,
 * without what chance takes off. */
int64_t lease_pause(const struct lease *lease, const struct lease_failure *failure, int64_t left_ms,
                    int64_t *pause_ms);
