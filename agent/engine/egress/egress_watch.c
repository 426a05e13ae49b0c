// SPDX-License-Identifier: Apache-2.0
/*
 * The watch over egress' programs; see egress_watch.h. Without its program a pod leaves by this
 * node instead of its gateway, and nothing else shows that.
 *
 * A timer of idle priority, as NAT's upkeep: a link that went with its pin is seen by the folder of
 * pins, one that was detached only by asking each interface. Where they are few that is done every
 * time, else every five seconds.
 */
#include "engine/egress/egress_watch.h"

#include "base/clock.h"
#include "engine/egress/egress_state.h"

enum { WATCH_MS = 400, FULL_MS = 5 * SECOND_MS, FEW_HOOKS = 64 };

static bool is_due(struct egress_engine *egress, int64_t now_ms)
{
    return nat_hooks_pins_moved(egress->hooks) || egress->attached.count <= FEW_HOOKS ||
           now_ms - egress->watch.looked_ms >= FULL_MS;
}

static void on_watch(void *context)
{
    struct egress_engine *egress = context;
    const int64_t now_ms = clock_mono_ms();
    if (egress->hooked && is_due(egress, now_ms)) {
        egress->watch.looked_ms = now_ms;
        if (!nat_hooks_attached(egress->hooks, egress->attached.items, egress->attached.count)) {
            egress->moved = true;
            egress->watch.wake(egress->watch.context);
        }
    }
    timer_arm(egress->watch.timer, WATCH_MS);
}

int egress_watch_start(struct egress_engine *egress, const struct engine_setup *setup)
{
    struct egress_watch *watch = &egress->watch;
    watch->wake = setup->wake;
    watch->context = setup->context;
    if (!egress->hooks)
        return 0;
    int r = timer_new(setup->event, SD_EVENT_PRIORITY_IDLE, on_watch, egress, &watch->timer);
    if (r == 0)
        timer_arm(watch->timer, WATCH_MS);
    return r;
}

void egress_watch_done(struct egress_watch *watch)
{
    timer_free(watch->timer);
    watch->timer = NULL;
}
