// SPDX-License-Identifier: Apache-2.0
/*
 * The host's settings, read from the files that sysctl(8) reads; see host.h.
 *
 * The stack forwards IPv4 if the setting of the incoming interface permits it; ip_forward sets that
 * of all interfaces at once, and of those added later. For IPv6 the stack checks only the setting
 * of "all"; but bpf_fib_lookup() checks the interface's (bpf_ipv6_fib_lookup(), Linux 6.1 to 6.18),
 * and without its result service NAT delivers nothing. An interface may have no IPv6 at all.
 */
#include "apply/nat/host/host.h"

#include "apply/settings.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "faults/nat.h"
#include "faults/raise.h"

/* `type` is a row whose only argument is the setting. */
static void check_switch(const char *family, const char *name, const char *setting, bool wanted,
                         const struct fault_type *type, struct faults *faults)
{
    AUTOFREE char *key = setting_key(family, name, setting);
    long value;
    if (!key) {
        faults->incomplete = true;
        return;
    }
    if (setting_read(key, &value) < 0 || (value != 0) == wanted)
        return;
    fault_raise_type(faults, key, type, &(const struct fault_nat_interface_without_ipv6){ key });
}

void nat_host_check_interface(const char *name, bool v4, bool v6, struct faults *faults)
{
    if (v4)
        check_switch("ipv4", name, "forwarding", true, &fault_type_nat_interface_not_forwarding,
                     faults);
    if (v6)
        check_switch("ipv6", name, "forwarding", true, &fault_type_nat_interface_not_forwarding,
                     faults);
}

enum { ARP_NEVER = 8 };

static void check_arp(const char *name, struct faults *faults)
{
    const char *const names[] = { name, "all" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTOFREE char *key = setting_key("ipv4", names[i], "arp_ignore");
        long value;
        if (key && setting_read(key, &value) == 0 && value == ARP_NEVER)
            fault_raise(faults, key, nat_arp_ignored, .value = value, .setting = key);
    }
}

void nat_host_check_uplink(const char *name, bool v4, bool v6, struct faults *faults)
{
    if (v6)
        check_switch("ipv6", name, "disable_ipv6", false, &fault_type_nat_interface_without_ipv6,
                     faults);
    if (v4)
        check_arp(name, faults);
}
