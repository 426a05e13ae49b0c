/* SPDX-License-Identifier: Apache-2.0 */
/* One half of a flow: what both the list and the sweep of flows ask of it. */
#pragma once

#include "apply/nat/plane.h"

/* The key of the other half. */
struct nat_tuple nat_flow_mate_key(const struct nat_flow *flow);

/*
 * True if the half found under that key is the other one of the flow under `key`: a half left alone
 * may see one of a later flow of its client in its mate's place.
 */
bool nat_flow_is_mate(const struct nat_tuple *key, const struct nat_flow *mate);

/* The check says that value and key were read as one. */
bool nat_flow_whole(const struct nat_tuple *key, const struct nat_flow *flow);

/* The endpoint does not live any more that the flow was made to. */
bool nat_flow_stale(const struct nat_plane *plane, const struct nat_flow *flow);

/* Seconds since the half's last packet. */
uint32_t nat_flow_idle(const struct nat_flow *flow, uint32_t now_s);

/*
 * A drain waits for it: a TCP connection that its client has not ended. UDP knows no end, and what
 * another node makes of its next packet is as good as what this one would.
 */
bool nat_flow_delays_drain(const struct nat_tuple *key, const struct nat_flow *flow);
