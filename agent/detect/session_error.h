/* SPDX-License-Identifier: Apache-2.0 */
/* Why a BGP session is down, and what to do about it, by what BIRD has as its last error. */
#pragma once

#include "base/text.h"
#include "status/bird_status.h"

/* Appends the reason for which a peer is down, and fills in what to do about it. */
void session_error_explain(const struct bgp_peer *peer, struct text *reason, struct text *remedy);
