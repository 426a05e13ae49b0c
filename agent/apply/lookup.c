// SPDX-License-Identifier: Apache-2.0
/*
 * RTM_GETROUTE for one destination, used by trace.
 *
 * For a route that refuses, IPv4 returns the error that a sender would get, IPv6 returns the route
 * itself; both result in its type here. EINVAL stands for a blackhole, and for a source that fails
 * the kernel's source validation (EXDEV: by rp_filter), where the packet is dropped silently as
 * well.
 */
#include "apply/lookup.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/mirror/decode.h"
#include "base/macro.h"

static int on_row(const struct nlmsghdr *row, void *context)
{
    static const struct nl_wanted wanted[] = { { RTA_OIF, 4 } };
    const struct nlattr *attributes[RTA_OIF + 1];
    struct route_found *found = context;
    const struct rtmsg *fixed = mnl_nlmsg_get_payload(row);

    if (row->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(row) < sizeof(*fixed))
        return 0;
    nl_parse(row, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, RTA_OIF);
    found->type = fixed->rtm_type;
    found->ifindex = attributes[RTA_OIF] ? mnl_attr_get_u32(attributes[RTA_OIF]) : 0;
    return 0;
}

static bool refuses(uint8_t type)
{
    return type == RTN_UNREACHABLE || type == RTN_BLACKHOLE || type == RTN_PROHIBIT;
}

int route_lookup(struct nl_socket *socket, const struct route_query *query,
                 struct route_found *ret_found)
{
    const struct rtmsg fixed = {
        .rtm_family = query->destination.family == IP_V6 ? AF_INET6 : AF_INET,
        .rtm_dst_len = ip_bits(&query->destination),
        .rtm_src_len = query->source.family == IP_NONE ? 0 : ip_bits(&query->source),
    };
    struct route_found found = { .type = RTN_UNREACHABLE };
    struct nl_request request;

    nl_begin(&request, RTM_GETROUTE, 0, &fixed, sizeof(fixed));
    nl_put_ip(&request, RTA_DST, &query->destination);
    if (query->source.family != IP_NONE)
        nl_put_ip(&request, RTA_SRC, &query->source);
    if (query->ifindex)
        nl_put_u32(&request, RTA_IIF, query->ifindex);
    int r = nl_get(socket, &request, on_row, &found);
    if (r == -EACCES)
        found.type = RTN_PROHIBIT;
    else if (r == -EINVAL || r == -EXDEV)
        found.type = RTN_BLACKHOLE;
    else if (r < 0 && r != -ENETUNREACH && r != -EHOSTUNREACH)
        return r;
    found.refused = r != -ENETUNREACH && refuses(found.type);
    *ret_found = found;
    return 0;
}

int route_reaches(struct nl_socket *socket, const struct ip *address, bool *ret_reaches)
{
    const struct route_query query = { .destination = *address };
    struct route_found found;
    int r = route_lookup(socket, &query, &found);
    if (r < 0)
        return r;
    *ret_reaches = found.type == RTN_UNICAST || found.type == RTN_LOCAL;
    return 0;
}

struct rule_search {
    uint32_t table;
    bool found;
};

static int on_searched(const struct nlmsghdr *row, void *context)
{
    struct rule_search *search = context;
    struct rule rule;
    search->found |= decode_rule(row, &rule) && rule.table == search->table;
    return 0;
}

int rules_look_up(struct nl_socket *socket, uint8_t family, uint32_t table, bool *ret_looks_up)
{
    const struct fib_rule_hdr fixed = { .family = family == IP_V6 ? AF_INET6 : AF_INET };
    struct rule_search search = { .table = table };
    struct nl_request request;

    nl_begin(&request, RTM_GETRULE, NLM_F_DUMP, &fixed, sizeof(fixed));
    int r = nl_dump(socket, &request, on_searched, NULL, &search);
    if (r < 0)
        return r;
    *ret_looks_up = search.found;
    return 0;
}

struct match {
    struct route route;
    bool found;
};

static int on_match(const struct nlmsghdr *row, void *context)
{
    struct match *match = context;
    match->found = row->nlmsg_type == RTM_NEWROUTE && decode_route(row, &match->route);
    return 0;
}

/* IPv6 always returns the table, and rejects the flag that requests it. */
int route_matched(struct nl_socket *socket, const struct ip *address, struct route *ret_route)
{
    const bool v6 = address->family == IP_V6;
    const struct rtmsg fixed = {
        .rtm_family = v6 ? AF_INET6 : AF_INET,
        .rtm_dst_len = ip_bits(address),
        .rtm_flags = RTM_F_FIB_MATCH | (v6 ? 0 : RTM_F_LOOKUP_TABLE),
    };
    struct match match = { 0 };
    struct nl_request request;

    nl_begin(&request, RTM_GETROUTE, 0, &fixed, sizeof(fixed));
    nl_put_ip(&request, RTA_DST, address);
    int r = nl_get(socket, &request, on_match, &match);
    if (r == -EACCES || r == -EINVAL || r == -ENETUNREACH || r == -EHOSTUNREACH)
        return 0;
    *ret_route = match.route;
    return r < 0 ? r : match.found;
}
