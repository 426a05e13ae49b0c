// SPDX-License-Identifier: Apache-2.0
/*
 * Forwarding on the interfaces that carry egress programs; see egress_settings.h. Checked together
 * with the hooks: the kernel notifies of a change (RTM_NEWNETCONF).
 *
 * The programs look up routes by bpf_fib_lookup(), which requires forwarding on the interface by
 * which a packet entered, in IPv6 as well. The kernel itself forwards IPv6 by the setting "all"
 * alone, so if one interface does not forward, only our programs fail. A client's packet is
 * dropped; a gateway behaves like one in a pod, and sends by the interface by which a packet
 * entered.
 *
 * A cause is reported once: service NAT reports the families that the node has; the pods engine
 * reports a whole family and IPv4 on interfaces.
 */
#include "engine/egress/egress_settings.h"

#include <string.h>

#include "apply/settings.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/egress/egress_state.h"
#include "faults/egress.h"
#include "faults/raise.h"

enum { LO_INDEX = 1 }; /* of the loopback interface, in each network namespace */

static const struct {
    enum ip_family family;
    const char *name, *all;
} families[] = {
    { IP_V4, "ipv4", "net.ipv4.ip_forward" },
    { IP_V6, "ipv6", "net.ipv6.conf.all.forwarding" },
};

/*
 * A setting that can't be read does not exist: an interface that was deleted, or a kernel without
 * the protocol.
 */
static bool is_off(const char *key)
{
    long value;
    return key && setting_read(key, &value) == 0 && value == 0;
}

static bool has_clients(const struct egress_engine *egress, enum ip_family family)
{
    sorted_each(struct egress_pod *, pod, &egress->plan.pods) {
        if ((*pod)->is_client && (*pod)->address.family == family)
            return true;
    }
    return false;
}

/* As in nat_machine.c: for the families of which svc0 has a route. */
static bool nat_tells(const struct egress_engine *egress, enum ip_family family)
{
    const struct nat_svc0 *leads = &egress->board->leads;
    return (family == IP_V4 ? leads->v4.family : leads->v6.family) != IP_NONE;
}

/* The interfaces by which pods send; one fault names the first that does not forward. */
static void tell_pods(const struct egress_engine *egress, size_t at, struct faults *faults)
{
    AUTOFREE char *first = NULL;
    int64_t count = 0;
    vec_each(const struct nat_attachment, it, &egress->attached) {
        AUTOFREE char *key = it->hook == EGRESS_HOOK_CLIENT_IN
                                 ? setting_key(families[at].name, it->name, "forwarding")
                                 : NULL;
        if (!is_off(key))
            continue;
        if (count++ == 0)
            first = TAKE_PTR(key);
    }
    if (count)
        fault_raise(faults, first, egress_pod_interface_not_forwarding, .others = count - 1,
                    .setting = first);
}

static void tell_uplinks(const struct egress_engine *egress, size_t at, struct faults *faults)
{
    vec_each(const struct nat_attachment, it, &egress->attached) {
        AUTOFREE char *key = it->hook == EGRESS_HOOK_GATEWAY_IN && it->ifindex != LO_INDEX
                                 ? setting_key(families[at].name, it->name, "forwarding")
                                 : NULL;
        if (is_off(key))
            fault_raise(faults, key, egress_uplink_not_forwarding, .setting = key);
    }
}

static void tell_family(const struct egress_engine *egress, size_t at, struct faults *faults)
{
    const enum ip_family family = families[at].family;
    const bool clients = egress->datapath && has_clients(egress, family);
    const bool pods_tell = egress->config->pods.enabled;
    if (nat_tells(egress, family))
        return;
    if (is_off(families[at].all)) { /* a gateway in a pod needs no forwarding */
        if (clients && !pods_tell)
            fault_raise(faults, families[at].all, egress_forwarding_off,
                        .setting = families[at].all);
        return;
    }
    if (clients && (family == IP_V6 || !pods_tell))
        tell_pods(egress, at, faults);
    if (egress->gateway.gate)
        tell_uplinks(egress, at, faults);
}

void egress_settings_tell(struct egress_engine *egress)
{
    AUTOFAULTS struct faults faults = { 0 };
    for (size_t at = 0; at < ARRAY_SIZE(families); at++)
        tell_family(egress, at, &faults);
    egress_report(egress, "settings", &faults);
}
