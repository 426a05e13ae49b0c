// SPDX-License-Identifier: Apache-2.0
/*
 * What the host's kernel is asked for again and again.
 *
 * Tracked connections: what goes through the stack is tracked where netfilter has rules that ask
 * for states. When the table is full, packets of new connections are dropped before any rule, and
 * only the kernel's log says so. The fill is not among the words, for it changes with each look.
 */
#include "base/clock.h"
#include "detect/detector.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { TRACKING_PERCENT = 90 };

static bool wants_nat(const struct config *config)
{
    return config->services.enabled;
}

static void detect_tracking(const struct detector_facts *facts, struct faults *faults)
{
    const struct tracking_facts *tracking = &facts->tracking;
    if (tracking->known &&
        (double)tracking->count >= (double)tracking->most * TRACKING_PERCENT / 100)
        fault_raise(faults, "net.netfilter.nf_conntrack_max", nat_tracking_full);
}

const struct detector host_detectors[] = {
    {
        .name = "tracking",
        .subsystem = "services",
        .group = "tracking",
        .codes = { &fault_type_nat_tracking_full },
        .facts = FACT_TRACKING,
        .period_ms = SECOND_MS,
        .linger_ms = 10 * SECOND_MS,
        .wanted = wants_nat,
        .detect = detect_tracking,
    },
    { .name = NULL },
};
