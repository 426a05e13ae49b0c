/* SPDX-License-Identifier: Apache-2.0 */
/* One half of a flow: functions for the list of flows, the sweep and the probe. */
#pragma once

#include "apply/nat/datapath.h"

/* The key under which the other half is. */
struct nat_tuple nat_flow_reverse_key(const struct nat_flow *flow);

/*
 * True if `reverse`, found under nat_flow_reverse_key(), is the other half of the flow under `key`.
 * If one half of a flow remained, a later flow of the same client may have stored another half
 * there.
 */
bool nat_flow_is_reverse(const struct nat_tuple *key, const struct nat_flow *reverse);

/* Reads the other half of the flow under `key`. False: there is no other half. */
bool nat_flow_find_reverse(const struct nat_datapath *datapath, const struct nat_tuple *key,
                           const struct nat_flow *flow, struct nat_flow *ret_reverse);

/* The state of a half's flow, calculated from both halves if there are two. */
enum nat_state nat_flow_state_of(const struct nat_datapath *datapath, const struct nat_tuple *key,
                                 const struct nat_flow *flow);

/* False if the kernel gave the entry to another key while it was read. */
bool nat_flow_whole(const struct nat_tuple *key, const struct nat_flow *flow);

/* Whether the half belongs to the SNAT entry of another flow (abi.h), and is not counted. */
bool nat_flow_is_snat(const struct nat_flow *flow);

/* True while the endpoint of the flow exists. */
bool nat_flow_endpoint_lives(const struct nat_datapath *datapath, const struct nat_flow *flow);

/* True if the endpoint does not exist any more, or no longer serves the flow's port. */
bool nat_flow_stale(const struct nat_datapath *datapath, const struct nat_flow *flow);

/* True for a gateway's flow whose client is gone: see nat_datapath_set_clientless(). */
bool nat_flow_is_clientless(const struct nat_datapath *datapath, const struct nat_flow *flow);

/* Seconds since the half's last packet. */
uint32_t nat_flow_idle(const struct nat_flow *flow, uint32_t now_s);

/*
 * True if a drain waits for this flow: a TCP connection that its client has not ended. UDP has no
 * end of a connection, and another node can handle the next packet as well.
 */
bool nat_flow_delays_drain(const struct nat_tuple *key, const struct nat_flow *flow);
