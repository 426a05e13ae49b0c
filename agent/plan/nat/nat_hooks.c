// SPDX-License-Identifier: Apache-2.0
/*
 * Determines the attachments from the interfaces; see nat_hooks.h.
 *
 * An interface without Ethernet headers (tun, WireGuard, IP tunnels) gets separate programs, and
 * one with other headers is a fault if it is named. A port of a bridge or bond passes its packets
 * to its master before they are routed: the program must be on the master, and naming the port is
 * an error. A VRF is a master of routing tables only; its ports are served like any interface.
 *
 * A bridge of pods is different. Replies from one of its pods to another are switched from port to
 * port, and would reach the client untranslated. So its ports have both programs, for packets from
 * and to each pod. The bridge itself has only pod_out: pod_in there would process packets that a
 * port's program has already translated. Such a bridge is named itself or by its ports; its ports
 * are veths and taps. A bridge with any other port, such as a NIC, connects pods to the fabric, and
 * is served as one interface.
 *
 * The programs are also attached to an interface that is down, so that no packet bypasses them when
 * it comes up. They are always attached to the loopback and to svc0, which patterns do not match.
 */
#include "plan/nat/nat_hooks.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/if_arp.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "faults/nat.h"
#include "faults/raise.h"

/* Bridges whose ports are pods: their indices, sorted. */
typedef VEC(uint32_t) bridge_list;

static int index_cmp(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return CMP(*left, *right);
}

static bool has_bridge(const bridge_list *bridges, uint32_t ifindex)
{
    return ifindex && vec_find(bridges, &ifindex, index_cmp);
}

static int push_bridge(bridge_list *bridges, const struct link_facts *facts,
                       const struct link *bridge)
{
    if (nat_is_uplink(facts, bridge) || has_bridge(bridges, bridge->ifindex))
        return 0;
    int r = vec_push(bridges, bridge->ifindex);
    vec_sort(bridges, index_cmp);
    return r;
}

/* Finds bridges with the role pod, or with a port that has it. */
static int find_bridges(const struct link_facts *facts, bridge_list *bridges)
{
    sorted_each(const struct link, link, facts->links) {
        const struct link *master = link_port_of(facts->links, link);
        const struct link *bridge = nat_is_bridge(link) ? link
                                    : master && nat_is_bridge(master) && nat_may_be_pods(link)
                                        ? master
                                        : NULL;
        int r = bridge && nat_is_pods(facts, link) ? push_bridge(bridges, facts, bridge) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* Of these bridges those with only pods' ports. */
static int find_pod_bridges(const struct link_facts *facts, bridge_list *ret_bridges)
{
    AUTOVEC bridge_list all = { 0 }, joined = { 0 }, kept = { 0 };
    int r = find_bridges(facts, &all);
    if (r < 0)
        return r;
    sorted_each(const struct link, link, facts->links) {
        if (!nat_may_be_pods(link) && has_bridge(&all, link->master))
            r = vec_push(&joined, link->master);
        if (r < 0)
            return r;
    }
    vec_sort(&joined, index_cmp);
    vec_each(const uint32_t, ifindex, &all) {
        if (!has_bridge(&joined, *ifindex))
            r = vec_push(&kept, *ifindex);
        if (r < 0)
            return r;
    }
    *ret_bridges = TAKE_STRUCT(kept);
    return 0;
}

static bool can_serve(const struct link_facts *facts, const struct link *link)
{
    return nat_can_carry(link) && !link_port_of(facts->links, link);
}

static void refuse(const struct link_facts *facts, const struct link *link, struct faults *faults)
{
    const struct link *master = link_port_of(facts->links, link);
    AUTOFREE char *place = text_format("interface %s", link->name);
    if (master)
        fault_raise(faults, place, nat_interface_enslaved, .kind = master->kind,
                    .master = master->name);
    else
        fault_raise(faults, place, nat_interface_untyped, .type = link->type);
}

/* Whether it exceeds NAT_MAX_BY_ROUTE, the programs' limit of such tunnels; then adds a fault. */
static bool is_one_too_many(const nat_attachment_list *wanted, const struct link *link,
                            struct faults *faults)
{
    size_t count = 0;
    vec_each(const struct nat_attachment, it, wanted)
        count += it->by_route && it->hook == NAT_HOOK_UPLINK_IN;
    if (!nat_goes_by_route(link) || count < NAT_MAX_BY_ROUTE)
        return false;
    AUTOFREE char *place = text_format("interface %s", link->name);
    fault_raise(faults, place, nat_interface_beyond_room, .count = NAT_MAX_BY_ROUTE);
    return true;
}

static void in_both_lists(const struct link *link, struct faults *faults)
{
    AUTOFREE char *place = text_format("interface %s", link->name);
    fault_raise(faults, place, nat_interface_in_both_lists);
}

/*
 * Each proof of a pod here queries the kernel for child interfaces: not for pods' own interfaces.
 */
static bool may_be_parent(const struct link *link, enum nat_hook hook)
{
    const bool uplink = hook == NAT_HOOK_UPLINK_IN || hook == NAT_HOOK_UPLINK_OUT;
    return link->type == ARPHRD_ETHER && !nat_is_own_link(link) &&
           (uplink || (!nat_may_be_pods(link) && !nat_is_bridge(link)));
}

static int attach(const struct link_facts *facts, nat_attachment_list *wanted,
                  const struct link *link, enum nat_hook hook)
{
    struct nat_attachment attachment = {
        .ifindex = link->ifindex,
        .vrf = nat_vrf_of(facts, link),
        .hook = hook,
        .bare = nat_is_bare(link),
        .by_route = nat_goes_by_route(link),
        .parent = may_be_parent(link, hook),
    };
    memcpy(attachment.name, link->name, sizeof(attachment.name));
    return vec_push(wanted, attachment);
}

static int attach_both(const struct link_facts *facts, nat_attachment_list *wanted,
                       const struct link *link, enum nat_hook in, enum nat_hook out)
{
    int r = attach(facts, wanted, link, in);
    return r < 0 ? r : attach(facts, wanted, link, out);
}

static int plan_link(const struct link_facts *facts, const struct link *link,
                     const bridge_list *bridges, nat_attachment_list *wanted, struct faults *faults)
{
    if (strcmp(link->name, "lo") == 0)
        return attach(facts, wanted, link, NAT_HOOK_LO_OUT);
    if (link_is_svc0(link))
        return attach(facts, wanted, link, NAT_HOOK_SVC_OUT);
    if (has_bridge(bridges, link->ifindex))
        return attach(facts, wanted, link, NAT_HOOK_POD_OUT);
    if (has_bridge(bridges, link->master))
        return attach_both(facts, wanted, link, NAT_HOOK_POD_IN, NAT_HOOK_POD_OUT);

    bool uplink = nat_is_uplink(facts, link);
    bool pod = nat_is_pods(facts, link);
    if (!uplink && !pod)
        return 0;
    if (!can_serve(facts, link)) {
        refuse(facts, link, faults);
        return 0;
    }
    if (is_one_too_many(wanted, link, faults))
        return 0;
    if (uplink && pod)
        in_both_lists(link, faults);
    return uplink ? attach_both(facts, wanted, link, NAT_HOOK_UPLINK_IN, NAT_HOOK_UPLINK_OUT)
                  : attach_both(facts, wanted, link, NAT_HOOK_POD_IN, NAT_HOOK_POD_OUT);
}

static bool has_hook(const nat_attachment_list *wanted, enum nat_hook hook)
{
    vec_each(const struct nat_attachment, it, wanted) {
        if (it->hook == hook)
            return true;
    }
    return false;
}

/*
 * Whether an uplink is in use: it has an address. Spare ports of a machine and the kernel's
 * fallback devices (gretap0) are also detected, or match a pattern, and are down. IPv4 addresses
 * stay on an interface that goes down; the kernel removes IPv6 ones, so an uplink without IPv4 is
 * not reported.
 */
static bool is_meant(const struct link_facts *facts, const struct link *link)
{
    if (!facts->addresses)
        return false;
    sorted_each(const struct link_address, address, facts->addresses) {
        if (address->ifindex == link->ifindex)
            return true;
    }
    return false;
}

/* Whether an uplink in use is up and has carrier: otherwise its state is the cause. */
static bool has_meant_uplink(const struct link_facts *facts)
{
    sorted_each(const struct link, link, facts->links) {
        if (link->up && !link->unplugged && nat_is_uplink(facts, link) && is_meant(facts, link))
            return true;
    }
    return false;
}

/* The fault that makes an uplink unusable; NULL: none. All rows have the same argument. */
static const struct fault_type *why_useless(const struct link *link)
{
    if (!link->up)
        return &fault_type_nat_uplink_down;
    if (link->unplugged)
        return &fault_type_nat_uplink_unplugged;
    return link_lacks_arp(link) ? &fault_type_nat_uplink_without_arp : NULL;
}

/* The cause of other faults: endpoints without a route, BGP sessions that go down. */
static void tell_down(const struct link_facts *facts, struct faults *faults)
{
    sorted_each(const struct link, link, facts->links) {
        const struct fault_type *why = why_useless(link);
        if (!why || !nat_is_uplink(facts, link) || !can_serve(facts, link) ||
            !is_meant(facts, link))
            continue;
        AUTOFREE char *place = text_format("interface %s", link->name);
        fault_raise_type(faults, place, why,
                         &(const struct fault_nat_uplink_down){ .interface = link->name });
    }
}

/* Pods may be absent, but a missing uplink is a configuration error or a broken node. */
static void miss_uplinks(const struct link_facts *facts, const nat_attachment_list *wanted,
                         struct faults *faults)
{
    if (facts->config->services.uplinks_auto && !has_hook(wanted, NAT_HOOK_UPLINK_IN))
        fault_raise(faults, "services.uplinks", nat_uplink_missing);
    if (!facts->config->services.uplinks_auto && facts->config->services.uplinks.count == 0)
        fault_raise(faults, "services.uplinks", nat_uplinks_empty);
    vec_each(char *, pattern, &facts->config->services.uplinks) {
        bool found = false;
        sorted_each(const struct link, link, facts->links)
            found |= !nat_is_own_link(link) && fnmatch(*pattern, link->name, 0) == 0;
        if (!found)
            fault_raise(faults, "services.uplinks", nat_uplink_unmatched, .pattern = *pattern);
    }
}

/* Which paths of a family lead to other routers, over all interfaces. */
struct outward {
    const struct link *other; /* it has a default route, and is no uplink; NULL: none */
    bool by_uplink;           /* an uplink has one, or at least a route to routers */
};

static struct outward look_outward(const struct link_facts *facts, uint8_t family)
{
    struct outward outward = { 0 };
    sorted_each(const struct link_path, path, facts->paths) {
        const struct link *link = link_find(facts->links, path->ifindex);
        if (path->kind == PATH_PLAIN || path->net.ip.family != family || !link)
            continue;
        if (nat_is_uplink(facts, link))
            outward.by_uplink = true;
        else if (path->kind == PATH_DEFAULT && !outward.other)
            outward.other = link;
    }
    return outward;
}

/*
 * Clients are behind other routers: replies need a route there, by interfaces with programs. A
 * family without such routes is not reported if the other family has one: not every network has
 * both.
 */
static void miss_routers(const struct link_facts *facts, struct faults *faults)
{
    const struct outward v4 = look_outward(facts, IP_V4), v6 = look_outward(facts, IP_V6);
    const struct link *other = v4.other && !v4.by_uplink   ? v4.other
                               : v6.other && !v6.by_uplink ? v6.other
                                                           : NULL;
    if (other)
        fault_raise(faults, "services.uplinks", nat_default_route_unserved,
                    .interface = other->name);
    else if (!v4.by_uplink && !v6.by_uplink)
        fault_raise(faults, "routes", nat_router_missing,
                    .what =
                        facts->config->services.enabled ? "answers to clients" : "packets of pods");
}

/* Whether an interface that leads to pods has no program. */
static bool is_missed(const struct link_facts *facts, const struct link *link,
                      const nat_attachment_list *wanted)
{
    return !nat_is_own_link(link) && can_serve(facts, link) &&
           !nat_sees_replies(wanted->items, wanted->count, link->ifindex) &&
           nat_leads_to_pods(facts, link);
}

/* An address of an interface whose whole network is a pod network; NULL: none. */
static const struct link_address *address_among_pods(const struct link_facts *facts,
                                                     const struct link *link,
                                                     const struct prefix **ret_net)
{
    if (!facts->addresses)
        return NULL;
    sorted_each(const struct link_address, address, facts->addresses) {
        for (size_t i = 0; address->ifindex == link->ifindex && i < facts->pod_net_count; i++) {
            *ret_net = &facts->pod_nets[i];
            if (address->length < ip_bits(&address->ip) && address->length >= (*ret_net)->length &&
                prefix_contains(*ret_net, &address->ip))
                return address;
        }
    }
    return NULL;
}

/* For example a bridge of docker that uses a pod network; or pods are behind it. */
static void miss_link(const struct link_facts *facts, const struct link *link, size_t count,
                      struct faults *faults)
{
    char text[PREFIX_STRLEN], network[PREFIX_STRLEN];
    const struct prefix *net = NULL;
    const struct link_address *address = address_among_pods(facts, link, &net);
    if (!address) {
        fault_raise(faults, "services.podInterfaces", nat_pod_interface_unmatched,
                    .interface = link->name, .count = (int64_t)count);
        return;
    }
    const struct prefix own = ip_network(&address->ip, address->length);
    fault_raise(faults, "services.clusterCIDRs", nat_pod_network_elsewhere,
                .network = prefix_str(net, text), .own = prefix_str(&own, network),
                .interface = link->name);
}

/* Patterns that match no pod's interface, or pods whose interfaces are unknown. */
static void miss_pods(const struct link_facts *facts, const nat_attachment_list *wanted,
                      struct faults *faults)
{
    const struct link *missed = NULL;
    size_t count = 0;
    sorted_each(const struct link, link, facts->links) {
        if (is_missed(facts, link, wanted)) {
            missed = missed ? missed : link;
            count++;
        }
    }
    if (missed)
        miss_link(facts, missed, count, faults);
    if (facts->pod_net_count == 0 && !has_hook(wanted, NAT_HOOK_POD_OUT))
        fault_raise(faults, "services.clusterCIDRs", nat_pods_unknown);
}

int plan_nat_hooks(const struct link_facts *facts, nat_attachment_list *ret_wanted,
                   struct faults *faults)
{
    AUTOVEC nat_attachment_list wanted = { 0 };
    AUTOVEC bridge_list bridges = { 0 };
    int r = find_pod_bridges(facts, &bridges);
    if (r < 0)
        return r;
    sorted_each(const struct link, link, facts->links) {
        r = plan_link(facts, link, &bridges, &wanted, faults);
        if (r < 0)
            return r;
    }
    tell_down(facts, faults);
    miss_uplinks(facts, &wanted, faults);
    if ((facts->config->services.enabled || facts->config->egress.gateway.enabled) &&
        has_meant_uplink(facts))
        miss_routers(facts, faults);
    if (!facts->without_pods)
        miss_pods(facts, &wanted, faults);
    *ret_wanted = TAKE_STRUCT(wanted);
    return 0;
}

uint32_t plan_svc0_mtu(const struct link_facts *facts)
{
    uint32_t largest = 0;
    sorted_each(const struct link, link, facts->links) {
        if (nat_is_uplink(facts, link) && can_serve(facts, link))
            largest = MAX(largest, link->mtu);
    }
    return largest ? largest : 1500;
}
