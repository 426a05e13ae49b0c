// SPDX-License-Identifier: Apache-2.0
/*
 * The upkeep of service NAT; see nat_upkeep.h. A timer of idle priority sweeps the flows; without
 * flows it fires every five seconds.
 *
 * The rest are periodic checks (loop/looks.h). The kernel gives no notification when a filter is
 * replaced, or a TCX program is attached or detached; a program attached by a TCX link is detached
 * with the link's pin. So pins are checked often, and the hooks with them where they are few.
 * Settings that people change by hand, and expect to see reported, are checked every second: the
 * host's settings (accept_local has no notification), listeners in the stack, sockets that listen
 * on node ports, a firewall; also the routers of default routes, and a few pods.
 *
 * The kernel does notify of nftables' rules: then listeners are checked earlier, and the firewall
 * as well if the rules differ. Between a notification and the following check the agent does not
 * listen for more, so that a ruleset that changes all the time wakes the agent no more often than
 * it checks.
 */
#include "engine/nat/nat_upkeep.h"

#include <string.h>
#include <sys/epoll.h>

#include "apply/nat/hooks/hooks.h"
#include "apply/nat/host/defrag.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/nat/host/nat_firewall.h"
#include "engine/nat/host/nat_own_paths.h"
#include "engine/nat/host/nat_ports.h"
#include "engine/nat/nat_pressure.h"
#include "engine/nat/nat_state.h"
#include "engine/nat/pods/nat_answers.h"

enum { SWEEP_MS = 5000, HOOKS_MS = 5000, FEW_HOOKS = 64 };

/* Counting walks the hash tables, so it is done once after each sweep, not for each request. */
static void count_maps(struct nat_engine *engine)
{
    struct nat_status *status = &engine->status->nat;
    status->map_count = nat_datapath_maps(engine->datapath, status->maps);
    nat_datapath_flow_states(engine->datapath, status->flows);
}

static void doubt(void *context)
{
    struct nat_engine *engine = context;
    engine->node_doubted = true;
    engine->upkeep.wake(engine->upkeep.context);
}

/* The round itself finds what it is to prove. */
static void prove_anew(void *context)
{
    struct nat_engine *engine = context;
    engine->upkeep.wake(engine->upkeep.context);
}

static bool look_at_limits(void *context, int64_t now_ms)
{
    struct nat_engine *engine = context;
    (void)now_ms;
    (void)nat_datapath_read_limits(engine->datapath);
    return false;
}

static bool look_at_hooks(void *context, int64_t now_ms)
{
    struct nat_engine *engine = context;
    if (!nat_hooks_pins_moved(engine->node.hooks) && engine->node.wanted.count > FEW_HOOKS &&
        now_ms - engine->upkeep.hooks_ms < HOOKS_MS)
        return false;
    engine->upkeep.hooks_ms = now_ms;
    return nat_node_look(&engine->node) < engine->node.rank;
}

static bool look_at_pins(void *context, int64_t now_ms)
{
    static const enum ip_family families[] = { IP_V4, IP_V6 };
    struct nat_engine *engine = context;
    AUTOFAULTS struct faults faults = { 0 };
    const bool could_pin = engine->upkeep.may_pin;
    (void)now_ms;
    engine->upkeep.may_pin = nat_datapath_may_pin(engine->datapath);
    nat_datapath_keep_pins(engine->datapath, &faults);
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        if (engine->node.defragments[i])
            (void)nat_defrag_ensure(engine->config->paths.bpf, families[i]);
    }
    nat_state_report(engine, "pins", &faults);
    return engine->upkeep.may_pin != could_pin;
}

/* Checks which flows are refused for want of room. */
static bool look_at_room(void *context, int64_t now_ms)
{
    struct nat_engine *engine = context;
    nat_datapath_pressure(engine->datapath, &engine->status->nat.pressure);
    nat_pressure_report(engine, now_ms);
    return false;
}

static bool look_at_settings(void *context, int64_t now_ms)
{
    (void)now_ms;
    return nat_node_host_moved(&((struct nat_engine *)context)->node);
}

/* nftables' rules changed. */
static int on_news(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct nat_engine *engine = userdata;
    (void)fd, (void)events;
    if (!nat_watch_hear(engine->watch))
        return 0;
    looks_hurry(engine->upkeep.looks, engine, "listeners");
    return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

/* Starts listening after the first check of listeners, and again after each check. */
static void hear_of_rules(struct nat_engine *engine)
{
    struct nat_upkeep *upkeep = &engine->upkeep;
    if (upkeep->news)
        (void)sd_event_source_set_enabled(upkeep->news, SD_EVENT_ON);
    else if (upkeep->event && engine->watch && nat_watch_fd(engine->watch) >= 0)
        (void)sd_event_add_io(upkeep->event, &upkeep->news, nat_watch_fd(engine->watch), EPOLLIN,
                              on_news, engine);
}

static bool look_at_listeners(void *context, int64_t now_ms)
{
    struct nat_engine *engine = context;
    (void)now_ms;
    if (engine->watch)
        (void)nat_watch_hear(engine->watch); /* changes reported until now are checked below */
    nat_path_follow(engine);
    if (engine->generation != engine->firewall.generation)
        looks_hurry(engine->upkeep.looks, engine, "firewall");
    hear_of_rules(engine);
    nat_ports_report(engine);
    return false;
}

static bool look_at_firewall(void *context, int64_t now_ms)
{
    return nat_firewall_look(context, now_ms);
}

static bool look_at_routers(void *context, int64_t now_ms)
{
    nat_routers_look(context, now_ms);
    return false;
}

static bool look_at_silent_pods(void *context, int64_t now_ms)
{
    nat_silent_pods_look(context, now_ms);
    return false;
}

static bool look_at_answers(void *context, int64_t now_ms)
{
    (void)now_ms;
    nat_answers_look(context);
    return false;
}

static bool look_at_own_paths(void *context, int64_t now_ms)
{
    (void)now_ms;
    nat_own_paths_look(context);
    return false;
}

static const struct look looks[] = {
    { "nat hooks", 400, look_at_hooks, doubt },
    { "nat pins", 400, look_at_pins, doubt },
    { "nat room", 400, look_at_room, NULL },
    { "host settings", 1000, look_at_settings, doubt },
    { "listeners", 1000, look_at_listeners, NULL },
    { "firewall", 500, look_at_firewall, prove_anew },
    { "routers", 500, look_at_routers, NULL },
    { "silent pods", 500, look_at_silent_pods, NULL },
    { "answers", 500, look_at_answers, NULL },
    { "own ways", 500, look_at_own_paths, NULL },
    { "icmp limits", 5000, look_at_limits, NULL },
};

static void on_sweep(void *context)
{
    struct nat_engine *engine = context;
    struct nat_status *status = &engine->status->nat;
    int64_t now_ms = clock_mono_ms(), next_ms = SWEEP_MS;
    int ended = nat_datapath_sweep(engine->datapath, now_ms, &next_ms);
    if (ended < 0)
        log_error("sweeping the flows: %s", strerror(-ended));
    else
        status->ended += (uint64_t)ended;
    status->established = nat_datapath_established(engine->datapath, false);
    if (next_ms >= SECOND_MS) /* a round is over */
        count_maps(engine);
    status->last_sweep_wall_ms = clock_wall_ms();
    status->last_sweep_us = clock_mono_us() - now_ms * 1000;
    timer_arm(engine->upkeep.timer, MIN(next_ms, SWEEP_MS));
}

int nat_upkeep_start(struct nat_engine *engine, const struct engine_setup *setup)
{
    struct nat_upkeep *upkeep = &engine->upkeep;
    upkeep->wake = setup->wake;
    upkeep->context = setup->context;
    if (!engine->datapath)
        return 0;
    upkeep->looks = setup->looks;
    upkeep->event = setup->event;
    int r = timer_new(setup->event, SD_EVENT_PRIORITY_IDLE, on_sweep, engine, &upkeep->timer);
    if (r < 0)
        return r;
    timer_arm(upkeep->timer, 0);
    return looks_add(upkeep->looks, looks, ARRAY_SIZE(looks), engine);
}

void nat_upkeep_done(struct nat_engine *engine)
{
    looks_drop(engine->upkeep.looks, engine);
    engine->upkeep.news = sd_event_source_disable_unref(engine->upkeep.news);
    timer_free(engine->upkeep.timer);
    engine->upkeep.timer = NULL;
}
