/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a lease (lease_state.h) pauses after a failure; pure.
 *
 * If the store does not respond, requests are repeated after short pauses, without a limit: an
 * address is to be back a second after the store. A store that refuses (permissions, quotas,
 * webhooks, too many requests) will refuse again, for each claim of each node: pauses are doubled
 * up to half of the duration, or 5 s, and are at least Retry-After. But a holder tries again before
 * its lease expires, while there is time for a response.
 *
 * After a conflict the record is read at once; a changed record ends the pause. If it has not
 * changed, the conflict is treated as a refusal. A store that reports success and leaves the record
 * at its version is treated likewise.
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
    int64_t retry_after_ms; /* 0: not given by the store; bounded by the reader */
};

/*
 * `left_ms`: remaining time of the current lease. `pause_ms`: of the previous failure, and of this
 * one, before jitter is subtracted.
 */
int64_t lease_pause(const struct lease *lease, const struct lease_failure *failure, int64_t left_ms,
                    int64_t *pause_ms);
