// SPDX-License-Identifier: Apache-2.0
/*
 * See holding_faults.h. Called by the agent's part for claimed addresses.
 *
 * On the interfaces of an address's network the part for claims itself reports conflicts: the
 * kernel refuses an address that another program has already added there.
 */
#include "plan/claims/holding_faults.h"

#include <fnmatch.h>

#include "base/text.h"
#include "faults/claims.h"
#include "faults/raise.h"

/* Whether the interface has an address in whose network `ip` is, except host addresses. */
static bool is_of_network(const struct node_facts *facts, uint32_t ifindex, const struct ip *ip)
{
    sorted_each(const struct link_address, address, facts->link_addresses) {
        if (address->ifindex == ifindex && placement_is_on(address, ip))
            return true;
    }
    return false;
}

static bool keeps_away(const struct node_facts *facts, const struct link *link,
                       enum placement_reason reason, const holding_list *list)
{
    vec_each(const struct holding, holding, list) {
        vec_each(const struct holding_address, address, &holding->addresses) {
            if (address->reason == reason && is_of_network(facts, link->ifindex, &address->ip))
                return true;
        }
    }
    return false;
}

static void tell_down(const struct link *link, struct faults *faults)
{
    AUTOFREE char *place = text_format("interface %s", link->name);
    if (link->up)
        fault_raise(faults, place, claim_interface_unplugged, .interface = link->name);
    else
        fault_raise(faults, place, claim_interface_down, .interface = link->name);
}

static void tell_port(const struct link *link, const struct link *master, struct faults *faults)
{
    AUTOFREE char *place = text_format("interface %s", link->name);
    fault_raise(faults, place, claim_interface_enslaved, .interface = link->name,
                .master = master->name, .kind = master->kind);
}

static void tell_no_arp(const struct link *link, struct faults *faults)
{
    AUTOFREE char *place = text_format("interface %s", link->name);
    fault_raise(faults, place, claim_interface_without_arp, .interface = link->name);
}

/* Whether a claimed address is in the interface's network. */
static bool has_claims(const struct node_facts *facts, const struct link *link,
                       const holding_list *list)
{
    vec_each(const struct holding, holding, list) {
        vec_each(const struct holding_address, address, &holding->addresses) {
            if (is_of_network(facts, link->ifindex, &address->ip))
                return true;
        }
    }
    return false;
}

static void tell_link(const struct node_facts *facts, const struct link *link,
                      const holding_list *list, struct faults *faults)
{
    const struct link *master = link_port_of(facts->links, link);
    if (master && keeps_away(facts, link, PLACEMENT_PORT, list))
        tell_port(link, master, faults);
    else if ((!link->up || link->unplugged) && keeps_away(facts, link, PLACEMENT_LINK_DOWN, list))
        tell_down(link, faults);
    else if (link_lacks_arp(link) && has_claims(facts, link, list))
        tell_no_arp(link, faults);
}

static bool has_network(const struct node_facts *facts, const struct link *link, int family)
{
    sorted_each(const struct link_address, address, facts->link_addresses) {
        if (address->ifindex == link->ifindex && address->ip.family == family &&
            address->scope == 0 && address->length < ip_bits(&address->ip))
            return true;
    }
    return false;
}

/* The first claimed address of a family that this node can't have for lack of an interface. */
static const struct ip *first_out_of_reach(const holding_list *list, int family)
{
    vec_each(const struct holding, holding, list) {
        vec_each(const struct holding_address, address, &holding->addresses) {
            if (address->reason == PLACEMENT_NO_INTERFACE && address->ip.family == family)
                return &address->ip;
        }
    }
    return NULL;
}

/*
 * Reports an interface that is configured for claimed addresses and has no network of their family;
 * one with another network may be in another rack.
 */
static void tell_bare(const struct node_facts *facts, const struct link *link,
                      const holding_list *list, struct faults *faults)
{
    char text[IP_STRLEN];
    static const int families[] = { IP_V4, IP_V6 };
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        const struct ip *ip = first_out_of_reach(list, families[i]);
        if (!ip || has_network(facts, link, families[i]))
            continue;
        AUTOFREE char *place = text_format("interface %s", link->name);
        fault_raise(faults, place, claim_interface_without_network,
                    .family = families[i] == IP_V4 ? "4" : "6", .interface = link->name,
                    .address = ip_str(ip, text));
    }
}

/* Whether addresses.interfaces names it, by one pattern or by several. */
static bool is_named(const struct node_facts *facts, const struct link *link)
{
    vec_each(char *, pattern, &facts->config->addresses.interfaces) {
        if (fnmatch(*pattern, link->name, 0) == 0)
            return true;
    }
    return false;
}

static void tell_all_bare(const struct node_facts *facts, const holding_list *list,
                          struct faults *faults)
{
    sorted_each(const struct link, link, facts->links) {
        if (link->up && is_named(facts, link))
            tell_bare(facts, link, list, faults);
    }
}

/* Reports patterns without a match: a wrong name, or an interface that did not come up. */
static void tell_unmatched(const struct node_facts *facts, struct faults *faults)
{
    vec_each(char *, pattern, &facts->config->addresses.interfaces) {
        bool found = false;
        sorted_each(const struct link, link, facts->links)
            found |= fnmatch(*pattern, link->name, 0) == 0;
        if (!found)
            fault_raise(faults, "addresses.interfaces", claim_interfaces_unmatched,
                        .pattern = *pattern);
    }
}

static void tell_elsewhere(const struct node_facts *facts, const struct holding_address *held,
                           struct faults *faults)
{
    char text[IP_STRLEN];
    sorted_each(const struct link_address, address, facts->link_addresses) {
        const struct link *link = link_find(facts->links, address->ifindex);
        if (!link || !ip_equal(&address->ip, &held->ip) ||
            is_of_network(facts, address->ifindex, &held->ip))
            continue;
        const char *place = ip_str(&held->ip, text);
        fault_raise(faults, place, claim_address_elsewhere, .interface = link->name,
                    .address = place, .length = address->length);
    }
}

static void tell_lost(const struct holding_address *held, struct faults *faults)
{
    char text[IP_STRLEN];
    if (!held->there || !held->lost_port)
        return;
    const struct object *object = &held->lost_service->object;
    AUTOFREE char *place = text_format("Service %s/%s", object->namespace, object->name);
    AUTOFREE char *port =
        text_format("%u/%s", held->lost_port->port, protocol_name(held->lost_port->protocol));
    if (port)
        fault_raise(faults, place, claim_port_without_endpoint, .address = ip_str(&held->ip, text),
                    .port = port);
    else
        faults->incomplete = true;
}

void plan_holding_faults(const struct node_facts *facts, const holding_list *list,
                         struct faults *faults)
{
    if (!facts->links || !facts->link_addresses)
        return;
    tell_unmatched(facts, faults);
    tell_all_bare(facts, list, faults);
    sorted_each(const struct link, link, facts->links)
        tell_link(facts, link, list, faults);
    vec_each(const struct holding, holding, list) {
        vec_each(const struct holding_address, address, &holding->addresses)
            tell_elsewhere(facts, address, faults);
        vec_each(const struct holding_address, address, &holding->addresses)
            tell_lost(address, faults);
    }
}
