// SPDX-License-Identifier: Apache-2.0
/* One function for each kind of fact; see host_facts.h. */
#include "apply/host_facts.h"

#include "apply/settings.h"

static void read_tracking(struct tracking_facts *tracking)
{
    long count, most;
    *tracking = (struct tracking_facts){ 0 };
    if (setting_read("net.netfilter.nf_conntrack_count", &count) < 0 ||
        setting_read("net.netfilter.nf_conntrack_max", &most) < 0 || most <= 0)
        return;
    *tracking = (struct tracking_facts){ .known = true, .count = count, .most = most };
}

void host_facts_read(unsigned kinds, struct detector_facts *facts)
{
    if (kinds & FACT_TRACKING)
        read_tracking(&facts->tracking);
}
