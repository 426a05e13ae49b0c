// SPDX-License-Identifier: Apache-2.0
/*
 * See egress_upkeep.h. One timer of idle priority; a pass is asked for only where a program has to
 * be attached again.
 */
#include "engine/egress/egress_upkeep.h"

#include "base/clock.h"
#include "base/macro.h"

enum {
    LOOK_MS = 400,           /* what is away comes back well within a second */
    FULL_MS = 5 * SECOND_MS, /* where there are many hooks */
    FEW_HOOKS = 64,
};

static bool hooks_are_due(struct egress_engine *egress, int64_t now_ms)
{
    return nat_hooks_pins_moved(egress->hooks) || egress->attached.count <= FEW_HOOKS ||
           now_ms - egress->upkeep.hooks_ms >= FULL_MS;
}

/* Without its program a pod leaves by this node instead of its gateway. A link that went with its
 * pin is seen by the folder of pins, one that was detached only by asking each interface. */
static void look_at_hooks(struct egress_engine *egress, int64_t now_ms)
{
    struct egress_upkeep *upkeep = &egress->upkeep;
    if (!egress->hooked || !hooks_are_due(egress, now_ms))
        return;
    upkeep->hooks_ms = now_ms;
    if (nat_hooks_attached(egress->hooks, egress->attached.items, egress->attached.count))
        return;
    egress->moved = true;
    upkeep->wake(upkeep->wake_context);
}

static void keep_pins(struct egress_engine *egress)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (egress->plane)
        egress_plane_keep_pins(egress->plane, &faults);
    if (egress->gateway.gate)
        egress_gate_keep_pins(egress->gateway.gate, &faults);
    if (egress->gateway.own)
        nat_plane_keep_pins(egress->gateway.own, &faults);
    egress_report(egress, "pins", &faults);
}

static void look_for_room(struct egress_engine *egress, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (!egress->gateway.gate)
        return;
    egress_room_look(&egress->room, egress->gateway.gate, now_ms, &faults);
    egress_report(egress, "room", &faults);
}

static void on_time(void *context)
{
    struct egress_engine *egress = context;
    struct egress_upkeep *upkeep = &egress->upkeep;
    int64_t now_ms = clock_mono_ms();
    if (now_ms >= upkeep->look_ms) {
        look_at_hooks(egress, now_ms);
        keep_pins(egress);
        look_for_room(egress, now_ms);
        upkeep->look_ms = now_ms + LOOK_MS;
    }
    int64_t next_ms = egress_gateway_tend(&egress->gateway, now_ms);
    timer_arm(upkeep->timer, MAX(0, MIN(next_ms, upkeep->look_ms) - now_ms));
}

int egress_upkeep_start(struct egress_engine *egress, const struct engine_setup *setup)
{
    struct egress_upkeep *upkeep = &egress->upkeep;
    if (!setup->event || !egress->hooks)
        return 0;
    upkeep->wake = setup->wake;
    upkeep->wake_context = setup->context;
    int r = timer_new(setup->event, SD_EVENT_PRIORITY_IDLE, on_time, egress, &upkeep->timer);
    if (r == 0)
        timer_arm(upkeep->timer, 0);
    return r;
}

void egress_upkeep_done(struct egress_engine *egress)
{
    timer_free(egress->upkeep.timer);
    egress->upkeep = (struct egress_upkeep){ 0 };
}
