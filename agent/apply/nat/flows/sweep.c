// SPDX-License-Identifier: Apache-2.0
/*
 * The sweep over "flows", which removes flows that are over. agentd's loop calls it for one slice
 * at a time.
 *
 * The programs detect by themselves that a flow is over, when they need its slot or its source
 * port; the sweep removes it soon after it ends, so that the table shows live flows. A flow is idle
 * since its last packet in either direction, and its timeout depends on its state. A UDP flow whose
 * endpoint is gone carries no more requests, but is kept for replies to earlier ones: without
 * translation they would reach the client from the endpoint's own address. A TCP flow continues.
 * Removed at once: a UDP flow whose endpoint serves other ports only, since its requests would
 * still be sent there; and an orphan, that is, a flow of an egress gateway whose client was
 * removed.
 *
 * If a flow gets a packet between the check and the removal, both halves are kept; the removed half
 * is written again, and is missing for a moment only. A packet that arrives after the removal
 * belongs to no flow, as in connection tracking.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/flows/flows.h"
#include "apply/nat/maps/table.h"
#include "apply/nat/services/filter.h"
#include "apply/nat/services/unowned.h"
#include "base/clock.h"
#include "base/macro.h"

enum {
    ALONE_S = 60, /* a half whose other half is missing */

    SLICE_PAUSE_MS = 20,
    ROUND_PAUSE_MS = 5000,
    EMPTY_PAUSE_MS = 30000,
    REFILL_PAUSE_MS = 60000,
};

enum fate { FATE_STAYS, FATE_HALF_GOES, FATE_GOES };

/*
 * Whether a stale flow may still get a reply: its endpoint got a request before it was removed, and
 * not longer ago than the timeout of a request.
 */
static bool may_be_answered(const struct nat_datapath *datapath, const struct nat_tuple *key,
                            const struct nat_flow *flow, uint32_t idle_s)
{
    return !nat_flow_endpoint_lives(datapath, flow) &&
           idle_s <= nat_timeout_s(datapath->control, flow, key->protocol, NAT_STATE_UNANSWERED);
}

/* No packet uses the flow any more, in any state. `idle_s`: since when, in both directions. */
static bool is_ended(const struct nat_datapath *datapath, const struct nat_tuple *key,
                     const struct nat_flow *flow, uint32_t idle_s)
{
    return (key->protocol != PROTOCOL_TCP && nat_flow_stale(datapath, flow) &&
            !may_be_answered(datapath, key, flow, idle_s)) ||
           nat_flow_is_clientless(datapath, flow);
}

static enum fate judge(const struct nat_datapath *datapath, const struct nat_tuple *key,
                       const struct nat_flow *flow, uint32_t now_s, enum nat_state *ret_state)
{
    struct nat_flow reverse;
    uint32_t idle = nat_flow_idle(flow, now_s);
    bool found = nat_flow_find_reverse(datapath, key, flow, &reverse);
    *ret_state = nat_flow_state(flow, found ? &reverse : flow, !found, key->protocol);
    if (found)
        idle = MIN(idle, nat_flow_idle(&reverse, now_s));
    if (is_ended(datapath, key, flow, idle))
        return FATE_GOES;
    if (!found && flow->half != NAT_HALF_DIRECT)
        return idle > ALONE_S ? FATE_HALF_GOES : FATE_STAYS;
    if (idle <= nat_timeout_s(datapath->control, flow, key->protocol, *ret_state))
        return FATE_STAYS;
    return found ? FATE_GOES : FATE_HALF_GOES;
}

/* False if it changed since the check: also if the client used its port for another flow. */
static bool is_unchanged(const struct nat_flow *is, const struct nat_flow *was)
{
    return is->seen_s == was->seen_s && is->packets == was->packets &&
           is->generation == was->generation && memcmp(&is->to, &was->to, sizeof(is->to)) == 0;
}

/*
 * Removes a half if it is unchanged since the check. If it changed between the check and the
 * removal, it is written again at once. Returns 1 if it was removed, 0 if it is in use, or -errno
 * (-ENOENT: it is gone already).
 */
static int end_half(const struct nat_datapath *datapath, const struct nat_tuple *key,
                    const struct nat_flow *was)
{
    struct nat_flow is;
    int r = nat_table_get(datapath, NAT_MAP_FLOWS, key, &is);
    if (r < 0 || !is_unchanged(&is, was))
        return r;
    r = nat_table_take(datapath, NAT_MAP_FLOWS, key, &is);
    if (r < 0 || is_unchanged(&is, was))
        return r < 0 ? r : 1;
    (void)nat_table_put(datapath, NAT_MAP_FLOWS, key, &is, BPF_NOEXIST);
    return 0;
}

/* Removes the other half of a flow whose first half was removed. Returns the same as end_half(). */
static int end_reverse(const struct nat_datapath *datapath, const struct nat_tuple *key,
                       const struct nat_flow *flow, uint32_t now_s)
{
    struct nat_tuple reverse_key = nat_flow_reverse_key(flow);
    struct nat_flow reverse;
    int r = nat_table_get(datapath, NAT_MAP_FLOWS, &reverse_key, &reverse);
    if (r < 0 || !nat_flow_is_reverse(key, &reverse))
        return r < 0 ? r : 1;
    uint32_t idle = nat_flow_idle(&reverse, now_s);
    bool ended = is_ended(datapath, key, flow, idle);
    enum nat_state state = nat_flow_state(flow, &reverse, false, key->protocol);
    uint32_t limit = nat_timeout_s(datapath->control, flow, key->protocol, state);
    return ended || idle > limit ? end_half(datapath, &reverse_key, &reverse) : 0;
}

/* Returns 1 if a flow has ended. */
static int end_flow(const struct nat_datapath *datapath, const struct nat_tuple *key,
                    const struct nat_flow *flow, enum fate fate, uint32_t now_s)
{
    if (fate == FATE_STAYS || end_half(datapath, key, flow) <= 0)
        return 0; /* removed with its other half, or in use again */
    if (fate == FATE_HALF_GOES || end_reverse(datapath, key, flow, now_s) != 0)
        return 1;
    (void)nat_table_put(datapath, NAT_MAP_FLOWS, key, flow, BPF_NOEXIST);
    return 0;
}

/*
 * Removes an entry that the program's flow_yield() has invalidated and could not delete: it belongs
 * to no flow, and blocks its tuple.
 */
static void end_unmade(const struct nat_datapath *datapath, const struct nat_tuple *key)
{
    struct nat_flow is;
    if (nat_table_take(datapath, NAT_MAP_FLOWS, key, &is) == 0 && nat_flow_whole(key, &is))
        (void)nat_table_put(datapath, NAT_MAP_FLOWS, key, &is, BPF_NOEXIST);
}

static int look_at_slice(struct nat_datapath *datapath, uint32_t now_s)
{
    struct nat_sweep *sweep = &datapath->sweep;
    int ended = 0;
    for (uint32_t i = 0; i < sweep->walk.count; i++) {
        const struct nat_tuple *key = nat_walk_key(&sweep->walk, i);
        const struct nat_flow *flow = nat_walk_value(&sweep->walk, i);
        if (!nat_flow_whole(key, flow)) {
            end_unmade(datapath, key);
            continue;
        }
        if (datapath->counter && flow->delivery == NAT_DELIVER_EGRESS &&
            flow->half == NAT_HALF_REPLY)
            datapath->counter->flow(datapath->counter_context, key);
        enum nat_state state;
        enum fate fate = judge(datapath, key, flow, now_s, &state);
        ended += end_flow(datapath, key, flow, fate, now_s);
        if (fate != FATE_STAYS)
            continue;
        if (datapath->filter_refilling)
            nat_filter_add_flow(datapath, key, flow);
        bool counts = flow->half != NAT_HALF_REPLY && !nat_flow_is_snat(flow);
        sweep->now.states[state] += counts;
        sweep->now.egress += counts && flow->delivery == NAT_DELIVER_EGRESS;
        sweep->now.established[flow->delivery == NAT_DELIVER_EGRESS] +=
            nat_flow_delays_drain(key, flow);
    }
    sweep->now.seen += sweep->walk.count;
    return ended;
}

static void begin_round(struct nat_datapath *datapath, int64_t now_mono_ms)
{
    struct nat_sweep *sweep = &datapath->sweep;
    nat_unowned_remove(datapath);
    if (datapath->filter_litter && now_mono_ms >= sweep->next_refill_ms) {
        sweep->next_refill_ms = now_mono_ms + REFILL_PAUSE_MS;
        nat_filter_refill(datapath);
    }
    sweep->under_way = true;
    sweep->now = (struct nat_sweep_count){ 0 };
    if (sweep->walk.room == 0)
        nat_table_walk(datapath, NAT_MAP_FLOWS, &sweep->walk);
    sweep->walk.fd = datapath->maps[NAT_MAP_FLOWS].fd;
    nat_walk_again(&sweep->walk);
}

/* Returns after how many milliseconds to call again. */
static int64_t end_round(struct nat_datapath *datapath, int64_t now_mono_ms)
{
    struct nat_sweep *sweep = &datapath->sweep;
    if (datapath->filter_refilling)
        nat_filter_switch(datapath);
    sweep->under_way = false;
    sweep->last = sweep->now;
    sweep->last_ms = now_mono_ms;
    if (datapath->counter)
        datapath->counter->end(datapath->counter_context, now_mono_ms);
    return sweep->last.seen ? ROUND_PAUSE_MS : EMPTY_PAUSE_MS;
}

static int give_up(struct nat_datapath *datapath, int error)
{
    datapath->filter_litter |= datapath->filter_refilling;
    datapath->filter_refilling = false;
    datapath->sweep.under_way = false;
    return error;
}

int nat_datapath_sweep(struct nat_datapath *datapath, int64_t now_mono_ms, int64_t *ret_next_ms)
{
    struct nat_sweep *sweep = &datapath->sweep;
    *ret_next_ms = ROUND_PAUSE_MS;
    if (datapath->control->ring_slots ==
        0) /* nat_datapath_set() was not called yet: timeouts are unknown */
        return 0;
    if (!sweep->under_way)
        begin_round(datapath, now_mono_ms);

    int ended = 0, r = nat_walk_next(&sweep->walk);
    if (r < 0)
        return give_up(datapath, r);
    if (r > 0)
        ended = look_at_slice(datapath, (uint32_t)(now_mono_ms / SECOND_MS));
    *ret_next_ms = sweep->walk.ended ? end_round(datapath, now_mono_ms) : SLICE_PAUSE_MS;
    return ended;
}
