// SPDX-License-Identifier: Apache-2.0
/*
 * The upkeep of service NAT; see nat_upkeep.h.
 *
 * One timer of idle priority sweeps the flows, reads the kernel's limits on ICMP errors again, and
 * checks that the hooks carry our programs: the kernel gives no notification when a filter is
 * replaced, or a TCX program is attached or detached. Without flows it fires every five seconds.
 *
 * Another one looks every second at what people set by hand, and want to see told: the host's
 * settings (accept_local has no notification), who listens in the stack, a firewall, and sockets
 * that listen on node ports; and at the routers of default routes. A third one looks at the pins,
 * more often since a program that hangs on a TCX link goes with the link's pin, and at the hooks
 * themselves where they are few.
 */
#include "engine/nat/nat_upkeep.h"

#include <string.h>

#include "apply/nat/defrag.h"
#include "apply/nat/hooks.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/nat/nat_firewall.h"
#include "engine/nat/nat_ports.h"
#include "engine/nat/nat_pressure.h"
#include "engine/nat/nat_state.h"

enum { LIMITS_MS = 5000, LOOK_MS = 1000, PINS_MS = 400, FEW_HOOKS = 64 };

/* Counting walks the hash tables, so it is done once after each sweep, not for each request. */
static void count_maps(struct nat_engine *engine)
{
    struct nat_status *status = &engine->status->nat;
    status->map_count = nat_plane_maps(engine->plane, status->maps);
    nat_plane_flow_states(engine->plane, status->flows);
}

/* Who is refused for want of room. */
static void look_at_pressure(struct nat_engine *engine)
{
    nat_plane_pressure(engine->plane, &engine->status->nat.pressure);
    nat_pressure_report(engine, clock_mono_ms());
}

static void doubt(struct nat_engine *engine)
{
    engine->node_doubted = true;
    engine->upkeep.wake(engine->upkeep.context);
}

static void look_at_hooks(struct nat_engine *engine)
{
    if (nat_node_look(&engine->node) < engine->node.rank)
        doubt(engine);
}

static void ask_kernel(struct nat_engine *engine, int64_t now_ms)
{
    struct nat_upkeep *upkeep = &engine->upkeep;
    if (now_ms - upkeep->limits_read_ms < LIMITS_MS)
        return;
    upkeep->limits_read_ms = now_ms;
    (void)nat_plane_read_limits(engine->plane);
    look_at_hooks(engine);
}

static void keep_pins(struct nat_engine *engine)
{
    static const enum ip_family families[] = { IP_V4, IP_V6 };
    AUTOFAULTS struct faults faults = { 0 };
    const bool could_pin = engine->upkeep.may_pin;
    engine->upkeep.may_pin = nat_plane_may_pin(engine->plane);
    nat_plane_keep_pins(engine->plane, &faults);
    if (engine->upkeep.may_pin != could_pin)
        doubt(engine);
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        if (engine->node.defragments[i])
            (void)nat_defrag_ensure(engine->config->paths.bpf, families[i]);
    }
    nat_state_report(engine, "pins", &faults);
}

static void on_pins(void *context)
{
    struct nat_engine *engine = context;
    keep_pins(engine);
    look_at_pressure(engine);
    if (nat_hooks_pins_moved(engine->node.hooks) || engine->node.wanted.count <= FEW_HOOKS)
        look_at_hooks(engine);
    timer_arm(engine->upkeep.pins_timer, PINS_MS);
}

static void on_look(void *context)
{
    struct nat_engine *engine = context;
    if (nat_node_host_moved(&engine->node))
        doubt(engine);
    nat_path_follow(engine);
    nat_ports_report(engine);
    nat_firewall_look(engine, clock_mono_ms());
    nat_routers_look(engine, clock_mono_ms());
    timer_arm(engine->upkeep.look_timer, LOOK_MS);
}

static void on_sweep(void *context)
{
    struct nat_engine *engine = context;
    struct nat_status *status = &engine->status->nat;
    int64_t now_ms = clock_mono_ms(), next_ms = LIMITS_MS;
    ask_kernel(engine, now_ms);
    int ended = nat_plane_sweep(engine->plane, now_ms, &next_ms);
    if (ended < 0)
        log_error("sweeping the flows: %s", strerror(-ended));
    else
        status->ended += (uint64_t)ended;
    status->established = nat_plane_established(engine->plane, false);
    if (next_ms >= SECOND_MS) /* a round is over */
        count_maps(engine);
    status->last_sweep_wall_ms = clock_wall_ms();
    status->last_sweep_us = clock_mono_us() - now_ms * 1000;
    timer_arm(engine->upkeep.timer, MIN(next_ms, LIMITS_MS));
}

int nat_upkeep_start(struct nat_engine *engine, const struct engine_setup *setup)
{
    struct nat_upkeep *upkeep = &engine->upkeep;
    upkeep->wake = setup->wake;
    upkeep->context = setup->context;
    if (!engine->plane)
        return 0;
    int r = timer_new(setup->event, SD_EVENT_PRIORITY_IDLE, on_sweep, engine, &upkeep->timer);
    if (r == 0)
        r = timer_new(setup->event, SD_EVENT_PRIORITY_IDLE, on_look, engine, &upkeep->look_timer);
    if (r == 0)
        r = timer_new(setup->event, SD_EVENT_PRIORITY_IDLE, on_pins, engine, &upkeep->pins_timer);
    if (r < 0)
        return r;
    timer_arm(upkeep->timer, 0);
    timer_arm(upkeep->look_timer, LOOK_MS);
    timer_arm(upkeep->pins_timer, PINS_MS);
    return 0;
}

void nat_upkeep_done(struct nat_upkeep *upkeep)
{
    timer_free(upkeep->timer);
    timer_free(upkeep->look_timer);
    timer_free(upkeep->pins_timer);
    upkeep->timer = upkeep->look_timer = upkeep->pins_timer = NULL;
}
