// SPDX-License-Identifier: Apache-2.0
/*
 * Links by rtnetlink; see link.h.
 *
 * IFLA_LINK is the index of a veth's peer, in the peer's namespace; IFLA_LINK_NETNSID identifies
 * that namespace, by a number that the kernel assigns when it first needs one, and that it sends
 * only if the two ends are in different namespaces. The kernel accepts the alias and the IPv6
 * settings for existing links, but not in the request that creates one (6.18: they are ignored).
 */
#include "apply/netlink/link.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

static void take_string(const struct nlattr *attribute, char *to, size_t size)
{
    if (attribute)
        memcpy(to, mnl_attr_get_str(attribute), strnlen(mnl_attr_get_str(attribute), size - 1));
}

/* The kind is in a nest, whose other attributes are the kind's own. */
static void take_kind(const struct nlattr *info, struct nl_link *link)
{
    const struct nlattr *kind = nl_find(info, IFLA_INFO_KIND);
    if (kind && memchr(mnl_attr_get_payload(kind), '\0', mnl_attr_get_payload_len(kind)))
        take_string(kind, link->kind, sizeof(link->kind));
}

/* Settings by address family; without IPv6 there are none. */
static void take_families(const struct nlattr *families, struct nl_link *link)
{
    const struct nlattr *v6 = nl_find(families, AF_INET6);
    const struct nlattr *mode = v6 ? nl_find(v6, IFLA_INET6_ADDR_GEN_MODE) : NULL;
    link->v6_generates = mode && mnl_attr_get_payload_len(mode) == 1 &&
                         mnl_attr_get_u8(mode) != IN6_ADDR_GEN_MODE_NONE;
}

static void take_nests(const struct nlmsghdr *message, struct nl_link *link)
{
    const struct nlattr *it = NULL;
    while ((it = nl_next_attribute(message, sizeof(struct ifinfomsg), it))) {
        if (mnl_attr_get_type(it) == IFLA_LINKINFO)
            take_kind(it, link);
        if (mnl_attr_get_type(it) == IFLA_AF_SPEC)
            take_families(it, link);
    }
}

static uint32_t get_u32(const struct nlattr *attribute, uint32_t otherwise)
{
    return attribute ? mnl_attr_get_u32(attribute) : otherwise;
}

bool nl_link_decode(const struct nlmsghdr *message, struct nl_link *ret_link)
{
    static const struct nl_wanted wanted[] = {
        { IFLA_IFNAME, 0 },
        { IFLA_IFALIAS, 0 },
        { IFLA_ADDRESS, 6 },
        { IFLA_MTU, sizeof(uint32_t) },
        { IFLA_LINK, sizeof(uint32_t) },
        { IFLA_LINK_NETNSID, sizeof(int32_t) },
        { IFLA_MASTER, sizeof(uint32_t) },
    };
    const struct ifinfomsg *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed) || fixed->ifi_family != AF_UNSPEC ||
        fixed->ifi_index <= 0)
        return false;

    const struct nlattr *attributes[IFLA_LINK_NETNSID + 1];
    nl_parse(message, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, IFLA_LINK_NETNSID);
    if (!attributes[IFLA_IFNAME] || !attributes[IFLA_MTU])
        return false;
    struct nl_link link = {
        .ifindex = (uint32_t)fixed->ifi_index,
        .mtu = mnl_attr_get_u32(attributes[IFLA_MTU]),
        .master = get_u32(attributes[IFLA_MASTER], 0),
        .peer = get_u32(attributes[IFLA_LINK], 0),
        .peer_nsid = (int32_t)get_u32(attributes[IFLA_LINK_NETNSID], UINT32_MAX),
        .type = fixed->ifi_type,
        .up = (fixed->ifi_flags & IFF_UP) != 0,
        .unplugged = (fixed->ifi_flags & (IFF_UP | IFF_LOWER_UP)) == IFF_UP,
        .arp = !(fixed->ifi_flags & IFF_NOARP),
        .one_peer = (fixed->ifi_flags & IFF_POINTOPOINT) != 0,
    };
    take_string(attributes[IFLA_IFNAME], link.name, sizeof(link.name));
    take_string(attributes[IFLA_IFALIAS], link.alias, sizeof(link.alias));
    if (attributes[IFLA_ADDRESS])
        memcpy(link.mac, mnl_attr_get_payload(attributes[IFLA_ADDRESS]), sizeof(link.mac));
    take_nests(message, &link);
    *ret_link = link;
    return true;
}

static int on_link(const struct nlmsghdr *row, void *context)
{
    (void)nl_link_decode(row, context);
    return 0;
}

static int read_one(struct nl_socket *socket, struct nl_request *request, struct nl_link *ret_link)
{
    struct nl_link link = { 0 };
    nl_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    int r = nl_get(socket, request, on_link, &link);
    if (r < 0)
        return r;
    if (link.ifindex == 0)
        return -EPROTO;
    *ret_link = link;
    return 0;
}

static void begin(struct nl_request *request, uint16_t type, uint16_t flags, uint32_t ifindex)
{
    const struct ifinfomsg fixed = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex };
    nl_begin(request, type, flags, &fixed, sizeof(fixed));
}

int nl_link_read(struct nl_socket *socket, uint32_t ifindex, struct nl_link *ret_link)
{
    struct nl_request request;
    begin(&request, RTM_GETLINK, 0, ifindex);
    return read_one(socket, &request, ret_link);
}

int nl_link_find(struct nl_socket *socket, const char *name, struct nl_link *ret_link)
{
    struct nl_request request;
    begin(&request, RTM_GETLINK, 0, 0);
    nl_put_string(&request, IFLA_IFNAME, name);
    return read_one(socket, &request, ret_link);
}

static void put_end(struct nl_request *request, const struct nl_veth *end)
{
    nl_put_string(request, IFLA_IFNAME, end->name);
    if (end->mac)
        nl_put_bytes(request, IFLA_ADDRESS, end->mac, 6);
    if (end->mtu)
        nl_put_u32(request, IFLA_MTU, end->mtu);
}

int nl_link_add_veth(struct nl_socket *socket, const struct nl_veth *end,
                     const struct nl_veth *peer, int netns, struct nl_result *result)
{
    const struct ifinfomsg fixed = { .ifi_family = AF_UNSPEC };
    struct nl_request request;
    begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
    put_end(&request, end);
    struct nlattr *info = nl_begin_nest(&request, IFLA_LINKINFO, NULL, 0);
    nl_put_string(&request, IFLA_INFO_KIND, "veth");
    struct nlattr *data = nl_begin_nest(&request, IFLA_INFO_DATA, NULL, 0);
    struct nlattr *other = nl_begin_nest(&request, VETH_INFO_PEER, &fixed, sizeof(fixed));
    put_end(&request, peer);
    if (netns != NL_HERE)
        nl_put_u32(&request, IFLA_NET_NS_FD, (uint32_t)netns);
    nl_end_nest(&request, other);
    nl_end_nest(&request, data);
    nl_end_nest(&request, info);
    return nl_run(socket, &request, result);
}

static void put_no_v6_addresses(struct nl_request *request)
{
    struct nlattr *families = nl_begin_nest(request, IFLA_AF_SPEC, NULL, 0);
    struct nlattr *v6 = nl_begin_nest(request, AF_INET6, NULL, 0);
    nl_put_u8(request, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
    nl_end_nest(request, v6);
    nl_end_nest(request, families);
}

int nl_link_change(struct nl_socket *socket, uint32_t ifindex, const struct nl_link_change *change,
                   struct nl_result *result)
{
    const unsigned state = change->state == NL_LINK_KEEP ? 0 : IFF_UP;
    const unsigned arp = change->no_arp ? IFF_NOARP : 0;
    const struct ifinfomsg fixed = {
        .ifi_family = AF_UNSPEC,
        .ifi_index = (int)ifindex,
        .ifi_flags = (change->state == NL_LINK_UP ? IFF_UP : 0) | arp,
        .ifi_change = state | arp,
    };
    struct nl_request request;
    nl_begin(&request, RTM_NEWLINK, 0, &fixed, sizeof(fixed));
    if (change->alias) /* the kernel counts a zero byte as one of its 255 */
        nl_put_bytes(&request, IFLA_IFALIAS, change->alias, strlen(change->alias));
    if (change->mtu)
        nl_put_u32(&request, IFLA_MTU, change->mtu);
    if (change->mac)
        nl_put_bytes(&request, IFLA_ADDRESS, change->mac, 6);
    if (change->no_v6_addresses)
        put_no_v6_addresses(&request);
    return nl_run(socket, &request, result);
}

int nl_link_move(struct nl_socket *socket, uint32_t ifindex, int netns, const char *name,
                 struct nl_result *result)
{
    struct nl_request request;
    begin(&request, RTM_NEWLINK, 0, ifindex);
    nl_put_u32(&request, IFLA_NET_NS_FD, (uint32_t)netns);
    if (name)
        nl_put_string(&request, IFLA_IFNAME, name);
    return nl_run(socket, &request, result);
}

int nl_link_delete(struct nl_socket *socket, uint32_t ifindex, struct nl_result *result)
{
    struct nl_request request;
    begin(&request, RTM_DELLINK, 0, ifindex);
    return nl_run(socket, &request, result);
}
