// SPDX-License-Identifier: Apache-2.0
/* One function for each kind of fact; see host_facts.h. */
#include "apply/host_facts.h"

#include "apply/settings.h"
#include "base/ours.h"

static void read_tracking(struct tracking_facts *tracking)
{
    long count, most, helper;
    *tracking = (struct tracking_facts){ 0 };
    tracking->helpers =
        setting_read("net.netfilter.nf_conntrack_helper", &helper) == 0 && helper > 0;
    if (setting_read("net.netfilter.nf_conntrack_count", &count) < 0 ||
        setting_read("net.netfilter.nf_conntrack_max", &most) < 0 || most <= 0)
        return;
    tracking->known = true;
    tracking->count = count;
    tracking->most = most;
}

static bool has_value(const char *key, bool on)
{
    long value;
    return setting_read(key, &value) < 0 || (value != 0) == on;
}

/* The kernel applies the setting of "all" or of the interface. */
static void read_settings(struct setting_facts *settings)
{
    settings->forwards_v4 = has_value("net.ipv4.ip_forward", true);
    settings->forwards_v6 = has_value("net.ipv6.conf.all.forwarding", true);
    settings->svc0_has_v6 = has_value("net.ipv6.conf." SVC0_NAME ".disable_ipv6", false);
    settings->accepts_local = has_value("net.ipv4.conf.lo.accept_local", true) ||
                              has_value("net.ipv4.conf.all.accept_local", true);
}

void host_facts_read(unsigned kinds, struct detector_facts *facts)
{
    if (kinds & FACT_TRACKING)
        read_tracking(&facts->tracking);
    if (kinds & FACT_SETTINGS)
        read_settings(&facts->settings);
}
