// SPDX-License-Identifier: Apache-2.0
/*
 * Roles of interfaces; see nat_roles.h.
 *
 * Detected in this order:
 *
 *   neither  what is ours, can't carry a program, is a port of a bridge or bond, or is no way to
 *            anywhere (dummy, VRF, ifb)
 *   uplink   it has no Ethernet header (IPIP, WireGuard, tun), and routes lead by it
 *   pod      a host route leads by it straight to an address in the pods' networks; or it is a
 *            bridge on a network of pods or with pods' ports, and has no others (a NIC)
 *   uplink   routes lead by it to other routers, a default route among them; or it is a tunnel
 *            between nodes (VXLAN, Geneve)
 *   pod      a veth whose other end is in another network namespace, and that is on no network but
 *            the pods', as far as they are known
 *   uplink   it is on a network that is not the pods'
 *
 * A pod that routes for others thus stays a pod, and the veth of a node that is itself a container
 * is an uplink: a pod outside its own network has a host route. A network of containers that are no
 * pods (docker0) is served like pods; if pods' networks are known, its interface does not decide
 * whether its packets count as a pod's.
 *
 * Routes of all tables count. A deleted route does not change the role until the kernel is read
 * again, every few minutes: a flapping BGP session moves no program.
 */
#include "plan/nat/nat_roles.h"

#include <fnmatch.h>
#include <linux/if_arp.h>
#include <string.h>

#include "base/macro.h"

bool nat_is_own_link(const struct link *link)
{
    return strcmp(link->name, "lo") == 0 || strcmp(link->name, SVC0_NAME) == 0 ||
           strcmp(link->name, SVC0_PEER_NAME) == 0;
}

bool nat_may_be_pods(const struct link *link)
{
    return link->type == ARPHRD_ETHER &&
           (strcmp(link->kind, "veth") == 0 || strcmp(link->kind, "tun") == 0);
}

/* As dev_is_mac_header_xmit() of Linux; kinds that it excludes lead nowhere. */
bool nat_is_bare(const struct link *link)
{
    static const uint16_t types[] = { ARPHRD_NONE,  ARPHRD_TUNNEL, ARPHRD_TUNNEL6, ARPHRD_SIT,
                                      ARPHRD_IPGRE, ARPHRD_IP6GRE, ARPHRD_RAWIP,   ARPHRD_PPP };
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (link->type == types[i])
            return true;
    }
    return false;
}

/* GRE without a fixed other end puts the outer header before the packet (ipgre_header()). */
bool nat_can_carry(const struct link *link)
{
    if (link->type == ARPHRD_IPGRE || link->type == ARPHRD_IP6GRE)
        return link->one_peer;
    return link->type == ARPHRD_ETHER || nat_is_bare(link);
}

bool nat_goes_by_route(const struct link *link)
{
    return !link->one_peer && (link->type == ARPHRD_TUNNEL || link->type == ARPHRD_TUNNEL6 ||
                               link->type == ARPHRD_SIT);
}

bool nat_is_bridge(const struct link *link)
{
    return strcmp(link->kind, "bridge") == 0;
}

uint32_t nat_vrf_of(const struct link_facts *facts, const struct link *link)
{
    const struct link *master = link->master ? link_find(facts->links, link->master) : NULL;
    return master && strcmp(master->kind, "vrf") == 0 ? master->ifindex : 0;
}

/* ---- routes ---- */

/* The destinations of the routes by an interface. */
struct routed {
    bool to_routers;
    bool to_pod;     /* directly to one */
    bool to_pod_net; /* directly to a network of pods */
    bool to_others;  /* directly to a network or host that is no pod's */
    bool to_network; /* ... to a network, where the family's pod networks are known */
};

static bool is_way(const struct routed *routed)
{
    return routed->to_routers || routed->to_pod || routed->to_pod_net || routed->to_others;
}

static bool is_pods(const struct link_facts *facts, const struct prefix *net)
{
    for (size_t i = 0; i < facts->pod_net_count; i++) {
        if (prefix_contains(&facts->pod_nets[i], &net->ip) &&
            net->length >= facts->pod_nets[i].length)
            return true;
    }
    return false;
}

static bool knows_pods(const struct link_facts *facts, enum ip_family family)
{
    for (size_t i = 0; i < facts->pod_net_count; i++) {
        if (facts->pod_nets[i].ip.family == family)
            return true;
    }
    return false;
}

static void lead_to(const struct link_facts *facts, const struct prefix *net, struct routed *routed)
{
    const bool is_host = net->length == ip_bits(&net->ip);
    if (net->ip.family == IP_NONE) {
        routed->to_routers = true;
    } else if (!is_pods(facts, net)) {
        routed->to_others = true;
        routed->to_network |= !is_host && knows_pods(facts, net->ip.family);
    } else if (is_host) {
        routed->to_pod = true;
    } else {
        routed->to_pod_net = true;
    }
}

static struct routed routed_by(const struct link_facts *facts, const struct link *link)
{
    const struct link_path first = { .ifindex = link->ifindex };
    struct routed routed = { 0 };
    for (size_t i = sorted_lower_bound(facts->paths, &first); i < facts->paths->count; i++) {
        const struct link_path *path = sorted_at(facts->paths, i);
        if (path->ifindex != link->ifindex)
            break;
        if (path->kind == PATH_PLAIN) /* the others say so, too */
            lead_to(facts, &path->net, &routed);
    }
    return routed;
}

/* ---- kinds ---- */

static bool has_kind(const struct link *link, const char *const *kinds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(link->kind, kinds[i]) == 0)
            return true;
    }
    return false;
}

static bool leads_nowhere(const struct link *link)
{
    static const char *const kinds[] = { "dummy", "vrf", "ifb", "nlmon" };
    return has_kind(link, kinds, ARRAY_SIZE(kinds));
}

static bool is_tunnel(const struct link *link)
{
    static const char *const kinds[] = { "vxlan", "geneve", "gretap", "ip6gretap" };
    return has_kind(link, kinds, ARRAY_SIZE(kinds));
}

/* The ports of a bridge, by their kinds. */
struct ports {
    bool pods, others;
};

static struct ports ports_of(const struct link_facts *facts, const struct link *bridge)
{
    struct ports ports = { 0 };
    sorted_each(const struct link, link, facts->links) {
        if (link->master != bridge->ifindex)
            continue;
        ports.others |= !nat_may_be_pods(link);
        ports.pods |= nat_may_be_pods(link) && (link->peer_away || strcmp(link->kind, "tun") == 0);
    }
    return ports;
}

static bool is_bridge_of_pods(const struct link_facts *facts, const struct link *link,
                              const struct routed *routed)
{
    if (!nat_is_bridge(link))
        return false;
    const struct ports ports = ports_of(facts, link);
    return !ports.others && (ports.pods || routed->to_pod_net);
}

enum nat_role nat_found_role(const struct link_facts *facts, const struct link *link)
{
    if (nat_is_own_link(link) || !nat_can_carry(link) || leads_nowhere(link) ||
        link_port_of(facts->links, link))
        return NAT_ROLE_NONE;
    const struct routed routed = routed_by(facts, link);
    if (nat_is_bare(link))
        return is_way(&routed) ? NAT_ROLE_UPLINK : NAT_ROLE_NONE;
    if (routed.to_pod || is_bridge_of_pods(facts, link, &routed))
        return NAT_ROLE_POD;
    if (routed.to_routers || is_tunnel(link))
        return NAT_ROLE_UPLINK;
    if (link->peer_away && !routed.to_network)
        return NAT_ROLE_POD;
    return routed.to_others ? NAT_ROLE_UPLINK : NAT_ROLE_NONE;
}

bool nat_leads_to_pods(const struct link_facts *facts, const struct link *link)
{
    const struct routed routed = routed_by(facts, link);
    return routed.to_pod || (nat_is_bridge(link) && routed.to_pod_net);
}

/* ---- names ---- */

static bool matches(const string_list *patterns, const struct link *link)
{
    if (nat_is_own_link(link))
        return false;
    vec_each(char *, pattern, patterns) {
        if (fnmatch(*pattern, link->name, 0) == 0)
            return true;
    }
    return false;
}

/* An interface on one list is not detected for the other. */
bool nat_is_uplink(const struct link_facts *facts, const struct link *link)
{
    const struct config *config = facts->config;
    if (!config->services.uplinks_auto)
        return matches(&config->services.uplinks, link);
    return !matches(&config->services.pod_interfaces, link) &&
           nat_found_role(facts, link) == NAT_ROLE_UPLINK;
}

bool nat_is_pods(const struct link_facts *facts, const struct link *link)
{
    const struct config *config = facts->config;
    if (!config->services.pod_interfaces_auto)
        return matches(&config->services.pod_interfaces, link);
    return !matches(&config->services.uplinks, link) && nat_found_role(facts, link) == NAT_ROLE_POD;
}
