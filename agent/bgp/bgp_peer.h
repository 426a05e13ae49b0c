/* SPDX-License-Identifier: Apache-2.0 */
/* A session, made from one protocol of BIRD's list. */
#pragma once

#include "client/bird/bird_parse.h"
#include "status/bird_status.h"

/* Fields that the protocol does not report are unknown; `networks` is empty. */
void bgp_peer_of(const struct bird_protocol *protocol, struct bgp_peer *ret_peer);
