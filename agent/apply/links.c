// SPDX-License-Identifier: Apache-2.0
/*
 * Interfaces, read by kernel.c: one dump, then a notification for each change.
 *
 * A notification of a link holds all of it, so that it can be played onto the table as it is; only
 * what a wireless driver says of itself comes as a part, without name and MTU. A bridge tells of
 * its ports in messages of family AF_BRIDGE, whose RTM_DELLINK means that the port left the bridge;
 * the same is told once more as a change of the link, so these are passed over. Of a link that is
 * down the alias alone is not told (6.18), until something else of it changes.
 *
 * Strict checking lets a dump leave out statistics, which are most of it.
 */
#include "apply/links.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

static void take_string(const struct nlattr *attribute, char *to, size_t size)
{
    if (attribute)
        memcpy(to, mnl_attr_get_str(attribute), strnlen(mnl_attr_get_str(attribute), size - 1));
}

/* The kind is in a nest, whose other attributes are the kind's own. */
static void take_kind(const struct nlattr *info, struct link *link)
{
    const char *end = (const char *)mnl_attr_get_payload(info) + mnl_attr_get_payload_len(info);
    const struct nlattr *it = mnl_attr_get_payload(info);
    for (; mnl_attr_ok(it, (int)(end - (const char *)it)); it = mnl_attr_next(it)) {
        if (mnl_attr_get_type(it) == IFLA_INFO_KIND &&
            memchr(mnl_attr_get_payload(it), '\0', mnl_attr_get_payload_len(it)))
            take_string(it, link->kind, sizeof(link->kind));
    }
}

static const struct nlattr *find_info(const struct nlmsghdr *message)
{
    const struct nlattr *it = NULL;
    while ((it = nl_next_attribute(message, sizeof(struct ifinfomsg), it))) {
        if (mnl_attr_get_type(it) == IFLA_LINKINFO)
            return it;
    }
    return NULL;
}

bool decode_link(const struct nlmsghdr *message, struct link *ret_link)
{
    static const struct nl_wanted wanted[] = {
        { IFLA_IFNAME, 0 },
        { IFLA_IFALIAS, 0 },
        { IFLA_ADDRESS, 6 },
        { IFLA_MTU, sizeof(uint32_t) },
        { IFLA_MASTER, sizeof(uint32_t) },
    };
    const struct ifinfomsg *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed) || fixed->ifi_family != AF_UNSPEC ||
        fixed->ifi_index <= 0)
        return false;

    const struct nlattr *attributes[IFLA_IFALIAS + 1];
    nl_parse(message, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, IFLA_IFALIAS);
    if (!attributes[IFLA_IFNAME] || !attributes[IFLA_MTU])
        return false;
    struct link link = {
        .ifindex = (uint32_t)fixed->ifi_index,
        .mtu = mnl_attr_get_u32(attributes[IFLA_MTU]),
        .type = fixed->ifi_type,
        .up = (fixed->ifi_flags & IFF_UP) != 0,
    };
    take_string(attributes[IFLA_IFNAME], link.name, sizeof(link.name));
    take_string(attributes[IFLA_IFALIAS], link.alias, sizeof(link.alias));
    const struct nlattr *info = find_info(message);
    if (info)
        take_kind(info, &link);
    if (attributes[IFLA_MASTER])
        link.master = mnl_attr_get_u32(attributes[IFLA_MASTER]);
    if (attributes[IFLA_ADDRESS])
        memcpy(link.mac, mnl_attr_get_payload(attributes[IFLA_ADDRESS]), sizeof(link.mac));
    *ret_link = link;
    return true;
}

/* IFA_LOCAL is the own address; IPv6 has it only where there is a peer. */
bool decode_link_address(const struct nlmsghdr *message, struct link_address *ret_address)
{
    const struct ifaddrmsg *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed) ||
        (fixed->ifa_family != AF_INET && fixed->ifa_family != AF_INET6))
        return false;

    bool v4 = fixed->ifa_family == AF_INET;
    struct link_address address = {
        .ifindex = fixed->ifa_index,
        .ip = { .family = v4 ? IP_V4 : IP_V6 },
        .length = fixed->ifa_prefixlen,
        .scope = fixed->ifa_scope,
    };
    uint16_t size = (uint16_t)ip_size(&address.ip);
    const struct nl_wanted wanted[] = { { IFA_LOCAL, size },
                                        { IFA_ADDRESS, size },
                                        { IFA_FLAGS, sizeof(uint32_t) } };
    const struct nlattr *attributes[IFA_FLAGS + 1];
    nl_parse(message, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, IFA_FLAGS);
    const struct nlattr *own =
        attributes[IFA_LOCAL] ? attributes[IFA_LOCAL] : attributes[IFA_ADDRESS];
    if (!own || address.length > ip_bits(&address.ip))
        return false;
    memcpy(address.ip.bytes, mnl_attr_get_payload(own), size);
    if (ip_is_special(&address.ip))
        return false;

    uint32_t flags = fixed->ifa_flags;
    if (attributes[IFA_FLAGS])
        flags = mnl_attr_get_u32(attributes[IFA_FLAGS]);
    address.secondary = (flags & IFA_F_SECONDARY) != 0;
    address.deprecated = (flags & IFA_F_DEPRECATED) != 0;
    address.tentative = (flags & IFA_F_DADFAILED) != 0 ||
                        ((flags & IFA_F_TENTATIVE) && !(flags & IFA_F_OPTIMISTIC));
    *ret_address = address;
    return true;
}

static int on_link(const struct nlmsghdr *row, void *context)
{
    struct link link;
    return decode_link(row, &link) ? sorted_put(context, &link) : 0;
}

static void restart(void *context)
{
    sorted_clear(context);
}

int dump_links(struct nl_socket *socket, struct sorted *ret_links)
{
    struct sorted links = SORTED(struct link, link_cmp);
    struct ifinfomsg fixed = { .ifi_family = AF_UNSPEC };
    struct nl_request request;
    nl_begin(&request, RTM_GETLINK, 0, &fixed, sizeof(fixed));
    nl_put_u32(&request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    int r = nl_dump(socket, &request, on_link, restart, &links);
    if (r < 0)
        sorted_done(&links);
    else
        *ret_links = links;
    return r;
}

int links_hear(struct sorted *links, const struct nlmsghdr *message)
{
    struct link link;
    if (!decode_link(message, &link))
        return 0;
    const struct link *known = link_find(links, link.ifindex);
    if (message->nlmsg_type == RTM_DELLINK) {
        if (known)
            sorted_remove(links, &link);
        return known != NULL;
    }
    if (known && link_equal(known, &link))
        return 0;
    int r = sorted_put(links, &link);
    return r < 0 ? r : 1;
}

bool links_equal(const struct sorted *a, const struct sorted *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!link_equal(sorted_at(a, i), sorted_at(b, i)))
            return false;
    return true;
}
