/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a session is down, for as long as it is: BIRD forgets what the peer said at its next attempt
 * to connect, and then has only that the connection was reset.
 */
#pragma once

#include "base/vec.h"
#include "status/bird_status.h"

/* What BGP itself said of a session that is down: "Received: ..." or "BGP Error: ...". */
struct bgp_error {
    char name[66], address[64], error[160];
    uint32_t asn, local_asn;
};

typedef VEC(struct bgp_error) bgp_error_list;

/*
 * After each poll: what the peers say now is kept, and put back as their last error where BIRD has
 * only a failed attempt left. A session that came up, or was set up anew, starts afresh. Without
 * memory BIRD's own word stands.
 */
void bgp_errors_remember(bgp_error_list *errors, struct bird_status *bird);
