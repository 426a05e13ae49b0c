// SPDX-License-Identifier: Apache-2.0
/*
 * Interfaces, and what service NAT will use them as: by the same words as the planner
 * (nat_roles.h), so that what is said here is what will be done.
 */
#include <fnmatch.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "apply/netlink/nl.h"
#include "base/files/file.h"
#include "base/text.h"
#include "doctor/visit.h"
#include "plan/nat/nat_roles.h"

enum { VALUE_MAX = 64 }; /* bytes of a setting */

static struct link_facts facts_of(const struct visit *visit)
{
    return (struct link_facts){
        .config = visit->config,
        .links = kernel_links(visit->kernel),
        .paths = kernel_paths(visit->kernel),
    };
}

static bool uses_links(struct visit *visit)
{
    if (visit->config && (visit->config->services.enabled || visit->config->egress.enabled))
        return true;
    visit_skip(visit, "neither services nor egress is enabled");
    return false;
}

static bool matched(const struct visit *visit, const char *pattern)
{
    sorted_each(const struct link, link, kernel_links(visit->kernel))
        if (!nat_is_own_link(link) && fnmatch(pattern, link->name, 0) == 0)
            return true;
    return false;
}

static void check_names(struct visit *visit, const char *key, const string_list *names, bool pods)
{
    vec_each(char *const, name, names) {
        if (matched(visit, *name))
            continue;
        if (pods)
            visit_warn(visit, "leave services.podInterfaces out: they are found by their routes",
                       "%s: no interface matches \"%s\" (right if there is no pod yet)", key,
                       *name);
        else
            visit_fail(visit, "see: ip -br link; or leave services.uplinks out: they are found",
                       "%s: no interface matches \"%s\"", key, *name);
    }
}

static void check_up(struct visit *visit, const struct link *link)
{
    AUTOFREE char *remedy = text_format("ip link set %s up", link->name);
    AUTOFREE char *plug = text_format(LINK_PLUG_REMEDY, link->name);
    if (!link->up)
        visit_fail(visit, remedy, "%s faces the fabric and is down", link->name);
    else if (link->unplugged)
        visit_fail(visit, plug, "%s faces the fabric and has no carrier", link->name);
}

static void check_uplinks(struct visit *visit)
{
    AUTOTEXT struct text names = { 0 };

    if (!uses_links(visit))
        return;
    const struct link_facts facts = facts_of(visit);
    size_t before = visit->findings->list.count;
    check_names(visit, "services.uplinks", &visit->config->services.uplinks, false);
    sorted_each(const struct link, link, kernel_links(visit->kernel)) {
        if (!nat_is_uplink(&facts, link))
            continue;
        text_addf(&names, "%s%s", names.length ? ", " : "", link->name);
        check_up(visit, link);
        if (!nat_can_carry(link))
            visit_fail(visit, "name another in services.uplinks",
                       "%s has headers that no program can read", link->name);
    }
    if (visit->findings->list.count > before)
        return;
    if (names.length == 0)
        visit_fail(visit,
                   "give the node a default route by the interface that faces the fabric, or name "
                   "it in services.uplinks",
                   "no interface faces the fabric: no client is served");
    else
        visit_good(visit, "%s", text_str(&names));
}

static bool is_zero(const char *key)
{
    AUTOFREE char *path = text_format("/proc/sys/%s", key);
    AUTOFREE char *content = NULL;
    size_t size;
    return path && file_read(path, VALUE_MAX, &content, &size) == 0 &&
           strtol(content, NULL, 10) == 0;
}

/* Programs find no route for what comes by an interface that does not forward, in IPv6 as well. Of
 * a node that forwards nothing machine.sysctl tells. */
static void check_forwarding(struct visit *visit, const struct link *link, const char *family,
                             const char *all)
{
    AUTOFREE char *key = text_format("net/%s/conf/%s/forwarding", family, link->name);
    AUTOFREE char *remedy = text_format("sysctl -w %s=1", key);
    if (!is_zero(all) && is_zero(key))
        visit_fail(visit, remedy, "%s is 0: what a pod sends by %s is not forwarded", key,
                   link->name);
}

static void check_ends(struct visit *visit, const struct link_facts *facts)
{
    sorted_each(const struct link, link, facts->links) {
        if (!nat_is_pods(facts, link) && !(link->peer_away && link_port_of(facts->links, link)))
            continue;
        check_forwarding(visit, link, "ipv4", "net/ipv4/ip_forward");
        if (visit->config->egress.enabled)
            check_forwarding(visit, link, "ipv6", "net/ipv6/conf/all/forwarding");
    }
}

static void check_pods(struct visit *visit)
{
    int64_t count = 0;

    if (!uses_links(visit))
        return;
    const struct link_facts facts = facts_of(visit);
    size_t before = visit->findings->list.count;
    check_names(visit, "services.podInterfaces", &visit->config->services.pod_interfaces, true);
    sorted_each(const struct link, link, kernel_links(visit->kernel)) {
        if (!nat_is_pods(&facts, link))
            continue;
        count++;
        if (nat_is_uplink(&facts, link))
            visit_fail(visit, "name it in one of the two alone",
                       "%s is in services.uplinks and in services.podInterfaces", link->name);
    }
    check_ends(visit, &facts);
    if (visit->findings->list.count == before)
        visit_good(visit, "%lld of pods now", (long long)count);
}

static void check_loopback(struct visit *visit)
{
    const struct link *lo = link_named(kernel_links(visit->kernel), "lo");
    if (!lo || !lo->up)
        visit_fail(visit, "ip link set lo up", "lo is down: the node does not reach itself");
}

static void check_mtu(struct visit *visit)
{
    const struct link *smallest = NULL, *largest = NULL, *pod = NULL;

    if (!uses_links(visit))
        return;
    const struct link_facts facts = facts_of(visit);
    sorted_each(const struct link, link, kernel_links(visit->kernel)) {
        if (nat_is_uplink(&facts, link)) {
            smallest = !smallest || link->mtu < smallest->mtu ? link : smallest;
            largest = !largest || link->mtu > largest->mtu ? link : largest;
        } else if (nat_is_pods(&facts, link)) {
            pod = !pod || link->mtu > pod->mtu ? link : pod;
        }
    }
    if (!smallest)
        return;
    if (largest->mtu != smallest->mtu)
        visit_warn(visit, "give all uplinks one MTU: ip link set NAME mtu N",
                   "%s has %u, %s has %u", smallest->name, smallest->mtu, largest->name,
                   largest->mtu);
    if (pod && pod->mtu > smallest->mtu)
        visit_warn(visit, "give the pods a smaller MTU in the CNI's configuration",
                   "pods send %u bytes (%s), %s carries %u", pod->mtu, pod->name, smallest->name,
                   smallest->mtu);
}

/* The uplinks that have a program of XDP; a packet comes there before it comes to any other. */
static int on_link(const struct nlmsghdr *row, void *context)
{
    struct visit *visit = context;
    const struct ifinfomsg *fixed = mnl_nlmsg_get_payload(row);
    const struct link_facts facts = facts_of(visit);
    const struct nlattr *xdp = NULL;

    if (row->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(row) < sizeof(*fixed))
        return 0;
    const struct link *link = link_find(kernel_links(visit->kernel), (uint32_t)fixed->ifi_index);
    for (const struct nlattr *at = NULL; (at = nl_next_attribute(row, sizeof(*fixed), at));)
        xdp = mnl_attr_get_type(at) == IFLA_XDP ? at : xdp;
    const struct nlattr *attached = xdp ? nl_find(xdp, IFLA_XDP_ATTACHED) : NULL;
    if (!link || !attached || mnl_attr_validate(attached, MNL_TYPE_U8) < 0 ||
        mnl_attr_get_u8(attached) == XDP_ATTACHED_NONE || !nat_is_uplink(&facts, link))
        return 0;
    AUTOFREE char *remedy =
        text_format("if that is not meant: ip link set dev %s xdp off; see whose "
                    "it is: bpftool net show dev %s",
                    link->name, link->name);
    visit_warn(visit, remedy,
               "%s has a program of XDP, which may drop or redirect packets before NAT sees them",
               link->name);
    return 0;
}

static void check_xdp(struct visit *visit)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    const struct ifinfomsg fixed = { .ifi_family = AF_UNSPEC };
    struct nl_request request;

    if (!uses_links(visit) || nl_open_in(NL_HERE, NETLINK_ROUTE, &socket) < 0)
        return;
    nl_begin(&request, RTM_GETLINK, NLM_F_DUMP, &fixed, sizeof(fixed));
    (void)nl_dump(socket, &request, on_link, NULL, visit);
}

static void check_addresses(struct visit *visit)
{
    sorted_each(const struct link_address, address, kernel_link_addresses(visit->kernel)) {
        const struct link *link = link_find(kernel_links(visit->kernel), address->ifindex);
        if (address->scope == 0 && link && link->type != ARPHRD_LOOPBACK)
            return;
    }
    visit_fail(visit, "give the interface that faces the fabric an address: ip address add",
               "this machine has no address");
}

static void check_way(struct visit *visit)
{
    if (!visit->config)
        return;
    sorted_each(const struct link_path, path, kernel_paths(visit->kernel))
        if (path->net.ip.family == IP_NONE)
            return;
    visit_warn(visit, "ip route add default via ROUTER, or let BIRD learn routes from the fabric",
               "no route leads to another router: answers to clients beyond go nowhere");
}

const struct check link_checks[] = {
    { "link.loopback", "loopback", "up", check_loopback },
    { "link.address", "addresses", "one to be reached by", check_addresses },
    { "link.way", "way out", "a route to other routers", check_way },
    { "link.uplinks", "uplinks", "interfaces that face the fabric, up", check_uplinks },
    { "link.pods", "pod interfaces", "known, and none of them an uplink", check_pods },
    { "link.xdp", "programs of XDP", "none that takes packets from NAT", check_xdp },
    { "link.mtu", "MTU", "what pods send fits the uplinks", check_mtu },
    { NULL },
};
