// SPDX-License-Identifier: Apache-2.0
/*
 * This machine as service NAT wants it; see nat_machine.h. Asked whenever links, addresses or
 * settings change: the kernel tells of forwarding (RTM_NEWNETCONF), links and addresses, and of
 * nothing else, so the settings are also looked at from time to time.
 *
 * A cause is told once: where forwarding is off as a whole, no interface is named, and an uplink
 * that is down or away, which the planner of hooks tells of, excuses the addresses that it had.
 */
#include "engine/nat/nat_machine.h"

#include "apply/nat/host.h"
#include "base/text.h"

enum { IPV6_MTU_MIN = 1280 };

/*
 * The interfaces of the programs, each once. Where ip_forward itself is off, theirs are as well,
 * and only that is told; svc0 and the loopback forward nothing.
 */
static void check_interfaces(const struct nat_node *node, bool v4, bool v6, struct faults *faults)
{
    uint32_t last = 0;
    if (!faults_none(faults))
        return;
    vec_each(const struct nat_attachment, it, &node->wanted) {
        bool forwards = it->hook == NAT_HOOK_UPLINK_IN || it->hook == NAT_HOOK_POD_IN;
        if (forwards && it->ifindex != last)
            nat_host_check_interface(it->name, v4, v6 && it->hook == NAT_HOOK_UPLINK_IN, faults);
        if (v4 && it->hook == NAT_HOOK_UPLINK_IN)
            nat_host_check_arp(it->name, faults);
        last = forwards ? it->ifindex : last;
    }
}

void nat_machine_settings(const struct nat_node *node, struct faults *faults)
{
    const bool v4 = node->leads.v4.family != IP_NONE, v6 = node->leads.v6.family != IP_NONE;
    nat_host_check(v4, v6, faults);
    check_interfaces(node, v4 || node->named.v4.family != IP_NONE,
                     v6 || node->named.v6.family != IP_NONE, faults);
}

/* One that is not known to be unique yet counts. */
static bool has_address(const struct node_facts *facts, const struct ip *ip)
{
    sorted_each(const struct link_address, address, facts->link_addresses) {
        if (ip_equal(&address->ip, ip))
            return true;
    }
    return false;
}

static void check_address(const struct node_facts *facts, const struct ip *ip,
                          struct faults *faults)
{
    char address[IP_STRLEN];
    if (ip->family == IP_NONE || has_address(facts, ip))
        return;
    AUTOFREE char *place = text_format("Node %s", facts->config->node);
    faults_add(faults, place ? place : "Node",
               "give it to the interface that faces the fabric, or mend the Node (kubelet's "
               "--node-ip)",
               "no interface of this machine has %s, its InternalIP", ip_str(ip, address));
}

static bool is_uplink(const struct nat_node *node, uint32_t ifindex)
{
    vec_each(const struct nat_attachment, it, &node->wanted) {
        if (it->ifindex == ifindex && it->hook == NAT_HOOK_UPLINK_IN)
            return true;
    }
    return false;
}

/* An uplink that is away or down, which is told by itself, may have taken its addresses along. */
static bool uplinks_stand(const struct nat_node *node, const struct node_facts *facts)
{
    bool any = false;
    vec_each(const struct nat_attachment, it, &node->wanted) {
        const struct link *link =
            it->hook == NAT_HOOK_UPLINK_IN ? link_find(facts->links, it->ifindex) : NULL;
        if (link && !link->up)
            return false;
        any |= link != NULL;
    }
    return any;
}

static bool has_node_port_address(const struct node_facts *facts, const struct prefix *range)
{
    const struct object *object = store_get(facts->store, KIND_NODE, "", facts->config->node);
    const struct node *node = object ? to_node(object) : NULL;
    for (uint32_t i = 0; node && i < node->address_count; i++) {
        if (prefix_contains(range, &node->addresses[i]))
            return true;
    }
    sorted_each(const struct link_address, address, facts->link_addresses) {
        if (prefix_contains(range, &address->ip))
            return true;
    }
    return false;
}

/* Nodes that differ have one list, so that one network of a family has to be this node's. */
static void check_node_ports(const struct node_facts *facts, uint8_t family, struct faults *faults)
{
    const struct prefix *missing = NULL;
    char network[PREFIX_STRLEN];
    vec_each(const struct prefix, range, &facts->config->services.node_port_addresses) {
        if (range->ip.family != family)
            continue;
        if (has_node_port_address(facts, range))
            return;
        missing = missing ? missing : range;
    }
    if (missing && !facts->config->services.node_port_primary)
        faults_add(faults, "services.nodePortAddresses",
                   "name a network of this node's (ip address), or primary",
                   "this node has no address in %s: nothing answers on node ports of IPv%d",
                   prefix_str(missing, network), family == IP_V4 ? 4 : 6);
}

/* Of interfaces that hosts or routers are behind: what a pod says of its own is no concern here. */
static void check_duplicates(const struct nat_node *node, const struct node_facts *facts,
                             struct faults *faults)
{
    sorted_each(const struct link_address, address, facts->link_addresses) {
        const struct link *link = link_find(facts->links, address->ifindex);
        char ip[IP_STRLEN];
        if (!address->duplicate || !link || !is_uplink(node, address->ifindex))
            continue;
        ip_str(&address->ip, ip);
        AUTOFREE char *place = text_format("interface %s", link->name);
        AUTOFREE char *remedy = text_format(
            "find out who has it (on another host of the network: ip neigh show to %s), take it off "
            "there, then here: ip addr del %s/%u dev %s; ip addr add %s/%u dev %s",
            ip, ip, address->length, link->name, ip, address->length, link->name);
        faults_add(faults, place ? place : "interface", remedy,
                   "its address %s is another machine's, too (duplicate address detection failed): "
                   "the kernel does not use it",
                   ip);
    }
}

static void check_loopback(const struct node_facts *facts, struct faults *faults)
{
    const struct link *lo = link_named(facts->links, "lo");
    if (lo && !lo->up)
        faults_add(faults, "interface lo", "ip link set lo up",
                   "lo is down: this node does not reach itself, nor its own node ports");
}

/* The kernel has no IPv6 on an interface that can't carry its smallest MTU, and takes its addresses
 * away. */
static void check_mtu(const struct nat_node *node, const struct node_facts *facts,
                      struct faults *faults)
{
    if (node->leads.v6.family == IP_NONE && node->named.v6.family == IP_NONE)
        return;
    sorted_each(const struct link, link, facts->links) {
        if (link->mtu >= IPV6_MTU_MIN || !is_uplink(node, link->ifindex))
            continue;
        AUTOFREE char *place = text_format("interface %s", link->name);
        AUTOFREE char *remedy = text_format(
            "ip link set %s mtu 1500, or what the link carries, 1280 at least; then give it its "
            "IPv6 addresses and routes again",
            link->name);
        faults_add(faults, place ? place : "interface", remedy,
                   "its MTU of %u is below 1280: the kernel has no IPv6 there", link->mtu);
    }
}

void nat_machine_addresses(const struct nat_node *node, const struct node_facts *facts,
                           struct faults *faults)
{
    check_duplicates(node, facts, faults);
    check_loopback(facts, faults);
    check_mtu(node, facts, faults);
    if (!uplinks_stand(node, facts))
        return;
    check_node_ports(facts, IP_V4, faults);
    check_node_ports(facts, IP_V6, faults);
    check_address(facts, &node->named.v4, faults);
    check_address(facts, &node->named.v6, faults);
}
