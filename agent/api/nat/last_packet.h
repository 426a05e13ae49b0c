/* SPDX-License-Identifier: Apache-2.0 */
/* The packet that was refused last, in documents of NAT and of egress. */
#pragma once

#include "api/view.h"
#include "format/json.h"
#include "status/packet_seen.h"

/* The object "last": from where to where, of which protocol, at which interface and when. */
void write_last_packet(struct json *json, const struct api_state *state,
                       const struct packet_seen *packet);
