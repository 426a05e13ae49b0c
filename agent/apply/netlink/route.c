// SPDX-License-Identifier: Apache-2.0
/*
 * Routes of a link by rtnetlink; see route.h.
 *
 * A route without a gateway has the scope of the link (in IPv4; IPv6 ignores scopes): otherwise no
 * gateway could be reached by it. Strict checking lets a dump be filtered by link and table.
 */
#include "apply/netlink/route.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

static unsigned char family_of(const struct ip *ip)
{
    return ip->family == IP_V4 ? AF_INET : AF_INET6;
}

int nl_route_add(struct nl_socket *socket, const struct nl_route *route, struct nl_result *result)
{
    const struct rtmsg fixed = {
        .rtm_family = family_of(&route->to.ip),
        .rtm_dst_len = route->to.length,
        .rtm_table = RT_TABLE_MAIN,
        .rtm_protocol = RTPROT_BOOT,
        .rtm_scope = route->via.family == IP_NONE ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
        .rtm_type = RTN_UNICAST,
    };
    struct nl_request request;
    nl_begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &fixed, sizeof(fixed));
    if (route->to.length)
        nl_put_ip(&request, RTA_DST, &route->to.ip);
    if (route->via.family != IP_NONE)
        nl_put_ip(&request, RTA_GATEWAY, &route->via);
    nl_put_u32(&request, RTA_OIF, route->ifindex);
    return nl_run(socket, &request, result);
}

static void take_ip(const struct nlattr *attribute, uint8_t family, struct ip *ip)
{
    ip->family = family;
    if (attribute)
        memcpy(ip->bytes, mnl_attr_get_payload(attribute), ip_size(ip));
}

static bool decode(const struct nlmsghdr *row, struct nl_route *ret_route)
{
    const struct rtmsg *fixed = mnl_nlmsg_get_payload(row);
    if (row->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(row) < sizeof(*fixed) ||
        (fixed->rtm_family != AF_INET && fixed->rtm_family != AF_INET6) ||
        fixed->rtm_type != RTN_UNICAST || fixed->rtm_protocol == RTPROT_KERNEL)
        return false;
    const uint8_t family = fixed->rtm_family == AF_INET ? IP_V4 : IP_V6;
    const uint16_t size = family == IP_V4 ? 4 : 16;
    const struct nl_wanted wanted[] = { { RTA_DST, size },
                                        { RTA_GATEWAY, size },
                                        { RTA_OIF, sizeof(uint32_t) } };
    const struct nlattr *attributes[RTA_GATEWAY + 1];
    nl_parse(row, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, RTA_GATEWAY);
    struct nl_route route = { .to.length = fixed->rtm_dst_len };
    take_ip(attributes[RTA_DST], family, &route.to.ip);
    if (!attributes[RTA_OIF] || route.to.length > ip_bits(&route.to.ip))
        return false;
    route.ifindex = mnl_attr_get_u32(attributes[RTA_OIF]);
    if (attributes[RTA_GATEWAY])
        take_ip(attributes[RTA_GATEWAY], family, &route.via);
    *ret_route = route;
    return true;
}

struct dump {
    uint32_t ifindex;
    nl_route_list routes;
    size_t kept; /* rows from the dump of the other family */
};

static int on_row(const struct nlmsghdr *row, void *context)
{
    struct dump *dump = context;
    struct nl_route route;
    if (!decode(row, &route) || route.ifindex != dump->ifindex)
        return 0;
    return vec_push(&dump->routes, route);
}

static void restart(void *context)
{
    struct dump *dump = context;
    dump->routes.count = dump->kept;
}

static int dump_family(struct nl_socket *socket, unsigned char family, struct dump *dump)
{
    const struct rtmsg fixed = { .rtm_family = family };
    struct nl_request request;
    nl_begin(&request, RTM_GETROUTE, NLM_F_DUMP, &fixed, sizeof(fixed));
    nl_put_u32(&request, RTA_OIF, dump->ifindex);
    dump->kept = dump->routes.count;
    return nl_dump(socket, &request, on_row, restart, dump);
}

int nl_route_dump(struct nl_socket *socket, uint32_t ifindex, nl_route_list *ret_routes)
{
    struct dump dump = { .ifindex = ifindex };
    int r = dump_family(socket, AF_INET, &dump);
    if (r == 0)
        r = dump_family(socket, AF_INET6, &dump);
    if (r == 0)
        vec_move(ret_routes, &dump.routes);
    vec_done(&dump.routes);
    return r;
}
