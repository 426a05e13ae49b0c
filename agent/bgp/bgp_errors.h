/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a session is down, kept for as long as it is down. BIRD drops the peer's error at its next
 * attempt to connect, and then reports only that the connection was reset.
 */
#pragma once

#include "base/vec.h"
#include "status/bird_status.h"

/* What BGP itself reported about a session that is down: "Received: ..." or "BGP Error: ...". */
struct bgp_error {
    char name[66], address[64], error[160];
    uint32_t asn, local_asn;
};

typedef VEC(struct bgp_error) bgp_error_list;

/*
 * Called after each poll. Stores the error that each peer reports now, and restores it as the last
 * error where BIRD reports only a failed attempt. A session that came up, or was configured anew,
 * starts without an error. Without memory, BIRD's own text is kept.
 */
void bgp_errors_remember(bgp_error_list *errors, struct bird_status *bird);
