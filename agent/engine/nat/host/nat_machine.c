// SPDX-License-Identifier: Apache-2.0
/*
 * Settings and addresses of this machine that service NAT needs; see nat_machine.h. Checked
 * whenever links, addresses or settings change. The kernel notifies only of forwarding
 * (RTM_NEWNETCONF), links and addresses, so the settings are also polled.
 *
 * A cause is reported once: where forwarding is off as a whole, no interface is named; and an
 * uplink that is down or missing, which the planner of hooks reports, explains missing addresses.
 */
#include "engine/nat/host/nat_machine.h"

#include "apply/host_facts.h"
#include "apply/nat/host/host.h"
#include "base/text.h"
#include "detect/detector.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { IPV6_MTU_MIN = 1280 };

/*
 * Checks each interface that carries programs once; svc0 and the loopback interface forward
 * nothing.
 */
static void check_interfaces(const struct nat_node *node, bool v4, bool v6, struct faults *faults)
{
    uint32_t last = 0;
    vec_each(const struct nat_attachment, it, &node->wanted) {
        bool forwards = it->hook == NAT_HOOK_UPLINK_IN || it->hook == NAT_HOOK_POD_IN;
        if (forwards && it->ifindex != last)
            nat_host_check_interface(it->name, v4, v6, faults);
        if (it->hook == NAT_HOOK_UPLINK_IN)
            nat_host_check_uplink(it->name, v4, v6, faults);
        last = forwards ? it->ifindex : last;
    }
}

void nat_machine_settings(const struct nat_node *node, struct faults *faults)
{
    const bool v4 = node->leads.v4.family != IP_NONE, v6 = node->leads.v6.family != IP_NONE;
    struct detector_facts facts = { .settings = { .v4 = v4, .v6 = v6 } };
    host_facts_read(FACT_SETTINGS, &facts);
    detector_find("forwarding")->detect(&facts, faults);
    detector_find("nat-settings")->detect(&facts, faults);
    const struct setting_facts *settings = &facts.settings;
    check_interfaces(node, settings->forwards_v4 && (v4 || node->named.v4.family != IP_NONE),
                     settings->forwards_v6 && (v6 || node->named.v6.family != IP_NONE), faults);
}

/* A tentative address counts. */
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
    fault_raise(faults, place, nat_node_address_missing, .address = ip_str(ip, address));
}

static bool is_uplink(const struct nat_node *node, uint32_t ifindex)
{
    vec_each(const struct nat_attachment, it, &node->wanted) {
        if (it->ifindex == ifindex && it->hook == NAT_HOOK_UPLINK_IN)
            return true;
    }
    return false;
}

/* An uplink that is missing or down is reported separately, and may explain missing addresses. */
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

/* Different nodes share one list, so one network of a family has to be this node's. */
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
        fault_raise(faults, "services.nodePortAddresses", nat_node_ports_addressless,
                    .network = prefix_str(missing, network),
                    .family = family == IP_V4 ? "IPv4" : "IPv6");
}

/*
 * Checks interfaces that lead to hosts or routers; a pod's claims about its own address are ignored
 * here.
 */
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
        fault_raise(faults, place, nat_address_duplicate, .address = ip, .length = address->length,
                    .interface = link->name);
    }
}

static void check_loopback(const struct node_facts *facts, struct faults *faults)
{
    const struct link *lo = link_named(facts->links, "lo");
    if (lo && !lo->up)
        fault_raise(faults, "interface lo", nat_loopback_down);
}

/* The kernel disables IPv6 on an interface with an MTU below IPv6's minimum, and removes its
 * addresses. */
static void check_mtu(const struct nat_node *node, const struct node_facts *facts,
                      struct faults *faults)
{
    if (node->leads.v6.family == IP_NONE && node->named.v6.family == IP_NONE)
        return;
    sorted_each(const struct link, link, facts->links) {
        if (link->mtu >= IPV6_MTU_MIN || !is_uplink(node, link->ifindex))
            continue;
        AUTOFREE char *place = text_format("interface %s", link->name);
        fault_raise(faults, place, nat_mtu_below_ipv6, .mtu = link->mtu, .interface = link->name);
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
