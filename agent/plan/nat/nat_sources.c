// SPDX-License-Identifier: Apache-2.0
/*
 * The source addresses of the node's own packets and of masqueraded ones; see nat_hooks.h.
 *
 * The kernel's masquerading selects an address for each packet: for IPv4 the interface's first
 * primary address, preferring one in the next hop's network; for IPv6 by RFC 6724. Here one address
 * is selected per interface and family. The source address of the default route fits the next hop
 * of most traffic, so it is preferred on its interface.
 */
#include <linux/rtnetlink.h>

#include "base/macro.h"
#include "plan/nat/nat_addresses.h"
#include "plan/nat/nat_hooks.h"

static bool is_local(const struct sorted *local_prefixes, const struct ip *ip)
{
    struct prefix host = ip_host_prefix(ip);
    return !local_prefixes || sorted_find(local_prefixes, &host);
}

static struct ip node_source(const struct node_facts *facts, uint8_t family,
                             const struct ip *otherwise)
{
    const struct ip *primary = nat_primary(facts, family);
    return primary && is_local(facts->local_prefixes, primary) ? *primary : *otherwise;
}

struct nat_svc0 plan_nat_svc0(const struct node_facts *facts, uint32_t ifindex,
                              const struct default_sources *defaults)
{
    return (struct nat_svc0){
        .ifindex = ifindex,
        .v4 = node_source(facts, IP_V4, &defaults->v4),
        .v6 = node_source(facts, IP_V6, &defaults->v6),
    };
}

/* The preference of an address as a source; 0: unusable. */
static int merit(const struct link_address *address, const struct ip *preferred)
{
    if (address->scope != RT_SCOPE_UNIVERSE || address->tentative)
        return 0;
    if (address->deprecated)
        return address->secondary ? 1 : 2;
    if (address->secondary)
        return 3;
    return ip_equal(&address->ip, preferred) ? 5 : 4;
}

/* The best of an interface's addresses of a family; the first of equals. */
static struct ip source_on(const struct sorted *addresses, uint32_t ifindex,
                           const struct ip *preferred, uint8_t family, const struct ip *otherwise)
{
    const struct link_address key = { .ifindex = ifindex, .ip = { .family = family } };
    struct ip best = *otherwise;
    int most = 0;
    for (size_t i = sorted_lower_bound(addresses, &key); i < addresses->count; i++) {
        const struct link_address *address = sorted_at(addresses, i);
        if (address->ifindex != ifindex || address->ip.family != family)
            break;
        if (merit(address, preferred) <= most)
            continue;
        most = merit(address, preferred);
        best = address->ip;
    }
    return best;
}

int plan_nat_interfaces(const struct sorted *links, const struct sorted *addresses,
                        const struct default_sources *defaults, const struct nat_svc0 *leads,
                        nat_interface_list *ret_interfaces)
{
    static const struct nat_svc0 none = { 0 };
    const struct nat_svc0 *node = leads ? leads : &none;
    nat_interface_list interfaces = { 0 };
    int r = vec_reserve(&interfaces, links->count);
    if (r < 0)
        return r;
    sorted_each(const struct link, link, links) {
        interfaces.items[interfaces.count++] = (struct nat_interface){
            .ifindex = link->ifindex,
            .v4 = source_on(addresses, link->ifindex, &defaults->v4, IP_V4, &node->v4),
            .v6 = source_on(addresses, link->ifindex, &defaults->v6, IP_V6, &node->v6),
        };
    }
    *ret_interfaces = interfaces;
    return 0;
}

/* The hooks that are wanted on an interface, as bits; `at` runs along the list, which is in order
 * of interfaces. */
static uint32_t hooks_on(const nat_attachment_list *wanted, uint32_t ifindex, size_t *at)
{
    uint32_t hooks = 0;
    for (; *at < wanted->count && wanted->items[*at].ifindex <= ifindex; (*at)++) {
        if (wanted->items[*at].ifindex == ifindex)
            hooks |= 1u << wanted->items[*at].hook;
    }
    return hooks;
}

static bool is_taken_in(const nat_attachment_list *wanted, uint32_t ifindex)
{
    vec_each(const struct nat_attachment, it, wanted) {
        if (it->ifindex == ifindex && it->hook == NAT_HOOK_POD_IN)
            return true;
    }
    return false;
}

/* A bridge with pod_in itself also has other ports than pods'. */
static uint32_t back_of(const struct sorted *links, const nat_attachment_list *wanted,
                        const struct link *link, uint32_t hooks)
{
    const uint32_t out = 1u << NAT_HOOK_POD_OUT, both = out | 1u << NAT_HOOK_POD_IN;
    if (hooks == out) /* a bridge with only pods' ports */
        return link->ifindex;
    if (link->lower && link_port_of(links, link) && nat_may_be_pods(link))
        return NAT_BACK_UNKNOWN; /* packets of this node into the bridge arrive by it */
    const struct link *bridge = hooks == both ? link_bridge_behind(links, link) : NULL;
    if (bridge)
        return is_taken_in(wanted, bridge->ifindex) ? NAT_BACK_ANY : bridge->ifindex;
    if (hooks == both && nat_may_be_pods(link))
        return link->ifindex;
    return hooks & (both | 1u << NAT_HOOK_UPLINK_IN) ? NAT_BACK_ANY : NAT_BACK_UNKNOWN;
}

void plan_nat_backs(const struct sorted *links, const nat_attachment_list *wanted,
                    nat_interface_list *interfaces)
{
    size_t at = 0;
    vec_each(struct nat_interface, it, interfaces) {
        const struct link *link = link_find(links, it->ifindex);
        const uint32_t hooks = hooks_on(wanted, it->ifindex, &at);
        it->back = link ? back_of(links, wanted, link, hooks) : NAT_BACK_UNKNOWN;
    }
}
