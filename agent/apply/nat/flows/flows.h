/* SPDX-License-Identifier: Apache-2.0 */
/* One half of a flow: what the list of flows, the sweep and the probe ask of it. */
#pragma once

#include "apply/nat/datapath.h"

/* The key under which the other half is. */
struct nat_tuple nat_flow_reverse_key(const struct nat_flow *flow);

/*
 * True if `reverse entry`, found under nat_flow_reverse_key(), is the other half of the flow under
 * `key`. Where a half was left alone, a later flow of the same client may have put another half
 * there.
 */
bool nat_flow_is_reverse(const struct nat_tuple *key, const struct nat_flow *reverse);

/* Reads the other half of the flow under `key`. False: this half is alone. */
bool nat_flow_find_reverse(const struct nat_datapath *datapath, const struct nat_tuple *key,
                           const struct nat_flow *flow, struct nat_flow *ret_reverse);

/* What the flow of a half has come to. It is read with its other half, if there is one. */
enum nat_state nat_flow_state_of(const struct nat_datapath *datapath, const struct nat_tuple *key,
                                 const struct nat_flow *flow);

/* False if the kernel gave the entry to another key while it was read. */
bool nat_flow_whole(const struct nat_tuple *key, const struct nat_flow *flow);

/* Whether the half belongs to the SNAT entry of another flow (abi.h), and counts for none. */
bool nat_flow_is_snat(const struct nat_flow *flow);

/* True while the endpoint that the flow was made to lives. */
bool nat_flow_endpoint_lives(const struct nat_datapath *datapath, const struct nat_flow *flow);

/* True if the endpoint does not live any more, or serves no longer for the flow's port. */
bool nat_flow_stale(const struct nat_datapath *datapath, const struct nat_flow *flow);

/* True for a gateway's flow whose client is gone: see nat_datapath_set_clientless(). */
bool nat_flow_is_clientless(const struct nat_datapath *datapath, const struct nat_flow *flow);

/* Seconds since the half's last packet. */
uint32_t nat_flow_idle(const struct nat_flow *flow, uint32_t now_s);

/*
 * True if a drain waits for this flow: for TCP connections that their clients have not ended. UDP
 * knows no end, and another node can handle the next packet as well as this one.
 */
bool nat_flow_delays_drain(const struct nat_tuple *key, const struct nat_flow *flow);
