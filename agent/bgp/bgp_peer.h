/* SPDX-License-Identifier: Apache-2.0 */
/* A session as one protocol of BIRD's list says it. */
#pragma once

#include "client/bird/bird_parse.h"
#include "status/bird_status.h"

/* What the protocol does not say is unknown; `networks` is empty. */
void bgp_peer_of(const struct bird_protocol *protocol, struct bgp_peer *ret_peer);
