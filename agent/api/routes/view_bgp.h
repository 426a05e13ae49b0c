/* SPDX-License-Identifier: Apache-2.0 */
/* BIRD's BGP sessions, as Status and Explanation show them. */
#pragma once

#include "base/net/ip.h"
#include "format/json.h"
#include "status/bird_status.h"

/* "bgp" of a Status. */
void write_bgp(struct json *json, const struct bird_status *bird);
/* "reach" of a prefix that this node wants announced: to whom it goes; null: it wants nothing. */
void write_reach(struct json *json, const struct bird_status *bird, const struct prefix *prefix,
                 bool wanted, bool installed);

/* "peers" of an Explanation: to whom a prefix goes; `installed`: it is in the kernel for BIRD. */
void write_peer_exports(struct json *json, const struct bird_status *bird,
                        const struct prefix *prefix, bool installed);
