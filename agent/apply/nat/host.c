// SPDX-License-Identifier: Apache-2.0
/*
 * The host's settings, read from the files that sysctl(8) reads; see host.h.
 *
 * accept_local: packets from the node itself to one of its node ports come back on the loopback
 * with the node's address as their source. Without this setting Linux drops them in IPv4 as forged.
 * The kernel uses the setting of "all" or of the interface. If a file does not exist, the kernel
 * lacks its protocol.
 *
 * IPv4 is forwarded if the interface that a packet comes in by says so; ip_forward sets that of all
 * at once, and of those that come later. IPv6 asks the switch of all only, but an interface may
 * have no IPv6 at all.
 */
#include "apply/nat/host.h"

#include "apply/settings.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/ours.h"
#include "base/text.h"

/* A setting that cannot be read counts as on. */
static bool is_on(const char *key)
{
    long value;
    return setting_read(key, &value) < 0 || value != 0;
}

static void check_switch(const char *family, const char *name, const char *setting, bool wanted,
                         const char *message, struct faults *faults)
{
    AUTOFREE char *key = setting_key(family, name, setting);
    long value;
    if (!key) {
        faults->incomplete = true;
        return;
    }
    if (setting_read(key, &value) < 0 || (value != 0) == wanted)
        return;
    AUTOFREE char *remedy = text_format("sysctl -w %s=%d", key, wanted);
    faults_add(faults, key, remedy, "%s", message);
}

void nat_host_check(bool v4, bool v6, struct faults *faults)
{
    if (v4 && !is_on("net.ipv4.ip_forward"))
        faults_add(faults, "net.ipv4.ip_forward", "sysctl -w net.ipv4.ip_forward=1",
                   "is 0: no packet reaches a pod");
    if (v6 && !is_on("net.ipv6.conf.all.forwarding"))
        faults_add(faults, "net.ipv6.conf.all.forwarding",
                   "sysctl -w net.ipv6.conf.all.forwarding=1", "is 0: no packet reaches a pod");
    if (v6)
        check_switch("ipv6", SVC0_NAME, "disable_ipv6", false,
                     "is 1: what this node itself sends to Services by IPv6 does not come to NAT",
                     faults);
    if (v4 && !is_on("net.ipv4.conf.lo.accept_local") && !is_on("net.ipv4.conf.all.accept_local"))
        faults_add(faults, "net.ipv4.conf.lo.accept_local",
                   "sysctl -w net.ipv4.conf.lo.accept_local=1 (61-fingerpost-services.conf of "
                   "sysctl.d keeps it)",
                   "is 0: this node does not reach its own node ports");
}

enum { ARP_NEVER = 8 };

void nat_host_check_arp(const char *name, struct faults *faults)
{
    const char *const names[] = { name, "all" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTOFREE char *key = setting_key("ipv4", names[i], "arp_ignore");
        AUTOFREE char *remedy = key ? text_format("sysctl -w %s=0", key) : NULL;
        long value;
        if (key && setting_read(key, &value) == 0 && value == ARP_NEVER)
            faults_add(faults, key, remedy,
                       "is %ld: nobody beside this uplink is told where this node is", value);
    }
}

void nat_host_check_interface(const char *name, bool v4, bool v6, struct faults *faults)
{
    if (v4)
        check_switch("ipv4", name, "forwarding", true,
                     "is 0: what comes in by this interface is not forwarded", faults);
    if (v6)
        check_switch("ipv6", name, "disable_ipv6", false,
                     "is 1: no IPv6 packet comes in or leaves by this interface", faults);
}
