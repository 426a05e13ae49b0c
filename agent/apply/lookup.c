// SPDX-License-Identifier: Apache-2.0
/*
 * RTM_GETROUTE for one destination, asked by trace.
 *
 * IPv4 answers a refusing route by the error that a sender would get, IPv6 by the route itself;
 * both come out as its type here. EINVAL is that of a blackhole, and of a source that the kernel
 * does not believe (EXDEV: by rp_filter), which it drops as silently.
 */
#include "apply/lookup.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

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
