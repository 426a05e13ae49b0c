// SPDX-License-Identifier: Apache-2.0
/*
 * Faults of this host's kernel: its tables and settings.
 *
 * Connection tracking: packets that pass the stack are tracked where netfilter has rules on
 * connection states. When the table is full, packets of new connections are dropped before any
 * rule, and only the kernel's log reports it. The fill level is not in the message, since it
 * changes with each check.
 *
 * accept_local: packets from the node itself to one of its node ports return on the loopback with
 * the node's address as their source. Without this setting Linux drops them in IPv4 as martian. The
 * kernel uses the setting of "all" or of the interface. If a file does not exist, the kernel lacks
 * its protocol.
 */
#include "base/clock.h"
#include "base/ours.h"
#include "detect/detector.h"
#include "faults/firewall.h"
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

static void detect_helpers(const struct detector_facts *facts, struct faults *faults)
{
    if (facts->tracking.helpers)
        fault_raise(faults, "net.netfilter.nf_conntrack_helper", nat_tracking_helpers);
}

static void detect_forwarding(const struct detector_facts *facts, struct faults *faults)
{
    const struct setting_facts *settings = &facts->settings;
    if (settings->v4 && !settings->forwards_v4)
        fault_raise(faults, "net.ipv4.ip_forward", nat_forwarding_off_ipv4);
    if (settings->v6 && !settings->forwards_v6)
        fault_raise(faults, "net.ipv6.conf.all.forwarding", nat_forwarding_off_ipv6);
}

static void detect_nat_settings(const struct detector_facts *facts, struct faults *faults)
{
    static const char key[] = "net.ipv6.conf." SVC0_NAME ".disable_ipv6";
    const struct setting_facts *settings = &facts->settings;
    if (settings->v6 && !settings->svc0_has_v6)
        fault_raise(faults, key, nat_svc0_without_ipv6, .setting = key);
    if (settings->v4 && !settings->accepts_local)
        fault_raise(faults, "net.ipv4.conf.lo.accept_local", nat_local_not_accepted);
}

/* nftables evaluates each chain at a hook, and a drop is final. */
static void detect_overruled(const struct detector_facts *facts, struct faults *faults)
{
    const char *chain = facts->firewall.drop_chain;
    if (facts->config->services.firewall.mode == FIREWALL_ACCEPT && *chain)
        fault_raise(faults, "nftables, table inet " OURS_NFTABLES_TABLE, firewall_accept_overruled,
                    .chain = chain);
}

const struct detector host_detectors[] = {
    {
        .name = "tracking",
        .subsystem = "services",
        .group = "tracking",
        .codes = DETECTOR_CODES(&fault_type_nat_tracking_full),
        .facts = FACT_TRACKING,
        .period_ms = SECOND_MS,
        .linger_ms = 10 * SECOND_MS,
        .wanted = wants_nat,
        .detect = detect_tracking,
    },
    {
        .name = "tracking-helpers",
        .subsystem = "services",
        .group = "tracking helpers",
        .codes = DETECTOR_CODES(&fault_type_nat_tracking_helpers),
        .facts = FACT_TRACKING,
        .period_ms = 60 * SECOND_MS,
        .wanted = wants_nat,
        .detect = detect_helpers,
    },
    {
        .name = "forwarding",
        .subsystem = "services",
        .group = "host",
        .codes = DETECTOR_CODES(&fault_type_nat_forwarding_off_ipv4,
                                &fault_type_nat_forwarding_off_ipv6),
        .facts = FACT_SETTINGS,
        .detect = detect_forwarding,
    },
    {
        .name = "nat-settings",
        .subsystem = "services",
        .group = "host",
        .codes =
            DETECTOR_CODES(&fault_type_nat_svc0_without_ipv6, &fault_type_nat_local_not_accepted),
        .facts = FACT_SETTINGS,
        .detect = detect_nat_settings,
    },
    {
        .name = "firewall-overruled",
        .subsystem = "services",
        .group = "nftables",
        .codes = DETECTOR_CODES(&fault_type_firewall_accept_overruled),
        .facts = FACT_FIREWALL,
        .detect = detect_overruled,
    },
    { .name = NULL },
};
