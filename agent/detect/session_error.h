/* SPDX-License-Identifier: Apache-2.0 */
/* Why a BGP session is down, and the remedy, by BIRD's last error. */
#pragma once

#include "base/text.h"
#include "status/bird_status.h"

/* Appends the reason why a peer is down, and fills in the remedy. */
void session_error_explain(const struct bgp_peer *peer, struct text *reason, struct text *remedy);
