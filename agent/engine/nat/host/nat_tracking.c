// SPDX-License-Identifier: Apache-2.0
/*
 * Connection tracking that is full; see nat_tracking.h.
 *
 * What goes through the stack is tracked where netfilter has rules that ask for states. When the
 * table is full, packets of new connections are dropped before any rule, and only the kernel's log
 * says so. The numbers are not among the words, for they change with each look; and what was told
 * goes only when there is some room again.
 */
#include "engine/nat/host/nat_tracking.h"

#include "apply/settings.h"
#include "engine/nat/nat_state.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { TELL_PERCENT = 95, FORGET_PERCENT = 90 };

void nat_tracking_report(struct nat_engine *engine)
{
    AUTOFAULTS struct faults faults = { 0 };
    const long percent = engine->tracking_full ? FORGET_PERCENT : TELL_PERCENT;
    long count, most;
    engine->tracking_full = setting_read("net.netfilter.nf_conntrack_count", &count) == 0 &&
                            setting_read("net.netfilter.nf_conntrack_max", &most) == 0 &&
                            most > 0 && (double)count >= (double)most * (double)percent / 100;
    if (engine->tracking_full)
        fault_raise(&faults, "net.netfilter.nf_conntrack_max", nat_tracking_full);
    nat_state_report(engine, "tracking", &faults);
}
