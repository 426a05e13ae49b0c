// SPDX-License-Identifier: Apache-2.0
/*
 * See egress_upkeep.h. The gateway's work has a timer of idle priority; the rest are periodic
 * checks. A pass is requested only where a program has to be attached again.
 */
#include "engine/egress/egress_upkeep.h"

#include "base/clock.h"
#include "base/macro.h"

enum {
    FULL_MS = 5 * SECOND_MS, /* where there are many hooks */
    FEW_HOOKS = 64,
};

static bool hooks_are_due(struct egress_engine *egress, int64_t now_ms)
{
    return nat_hooks_pins_moved(egress->hooks) || egress->attached.count <= FEW_HOOKS ||
           now_ms - egress->upkeep.hooks_ms >= FULL_MS;
}

/* Without its program a pod leaves by this node instead of its gateway. A link that was removed
 * with its pin is detected by the folder of pins, a link that was detached only by a query of each
 * interface. */
static bool look_at_hooks(void *context, int64_t now_ms)
{
    struct egress_engine *egress = context;
    if (!egress->hooked || !hooks_are_due(egress, now_ms))
        return false;
    egress->upkeep.hooks_ms = now_ms;
    return !nat_hooks_attached(egress->hooks, egress->attached.items, egress->attached.count);
}

static void attach_again(void *context)
{
    struct egress_engine *egress = context;
    egress->moved = true;
    egress->upkeep.wake(egress->upkeep.wake_context);
}

static bool look_at_pins(void *context, int64_t now_ms)
{
    struct egress_engine *egress = context;
    AUTOFAULTS struct faults faults = { 0 };
    (void)now_ms;
    if (egress->datapath)
        egress_datapath_keep_pins(egress->datapath, &faults);
    if (egress->gateway.gate)
        egress_gate_keep_pins(egress->gateway.gate, &faults);
    if (egress->gateway.own)
        nat_datapath_keep_pins(egress->gateway.own, &faults);
    egress_report(egress, "pins", &faults);
    return false;
}

static bool look_for_room(void *context, int64_t now_ms)
{
    struct egress_engine *egress = context;
    AUTOFAULTS struct faults faults = { 0 };
    if (!egress->gateway.gate)
        return false;
    egress_room_look(&egress->room, egress->gateway.gate, now_ms, &faults);
    egress_report(egress, "room", &faults);
    AUTOFAULTS struct faults deaf = { 0 };
    egress_pulse_look(&egress->pulse, egress->gateway.gate, egress_follows(egress), now_ms, &deaf);
    egress_report(egress, "pulse", &deaf);
    return false;
}

/* What is missing is restored well within a second. */
static const struct look looks[] = {
    { "egress hooks", 400, look_at_hooks, attach_again },
    { "egress pins", 400, look_at_pins, NULL },
    { "egress room", 400, look_for_room, NULL },
};

static void on_time(void *context)
{
    struct egress_engine *egress = context;
    struct egress_upkeep *upkeep = &egress->upkeep;
    int64_t now_ms = clock_mono_ms(), next_ms = egress_gateway_tend(&egress->gateway, now_ms);
    if (next_ms < INT64_MAX)
        timer_arm(upkeep->timer, MAX(0, next_ms - now_ms));
}

int egress_upkeep_start(struct egress_engine *egress, const struct engine_setup *setup)
{
    struct egress_upkeep *upkeep = &egress->upkeep;
    if (!setup->event || !egress->hooks)
        return 0;
    upkeep->wake = setup->wake;
    upkeep->wake_context = setup->context;
    upkeep->looks = setup->looks;
    int r = timer_new(setup->event, SD_EVENT_PRIORITY_IDLE, on_time, egress, &upkeep->timer);
    if (r < 0)
        return r;
    timer_arm(upkeep->timer, 0);
    return looks_add(upkeep->looks, looks, ARRAY_SIZE(looks), egress);
}

void egress_upkeep_done(struct egress_engine *egress)
{
    looks_drop(egress->upkeep.looks, egress);
    timer_free(egress->upkeep.timer);
    egress->upkeep = (struct egress_upkeep){ 0 };
}
