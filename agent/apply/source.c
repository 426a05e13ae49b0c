// SPDX-License-Identifier: Apache-2.0
/*
 * The source address of the default route, from a route lookup for an address that only a default
 * route can match: one of 240.0.0.0/4 (reserved for ever) or the first of 2000::/3. The kernel
 * selects the source as for a packet: the route's own source, else by the address of the next hop
 * and the interface.
 */
#include "apply/source.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

static int on_route(const struct nlmsghdr *row, void *context)
{
    struct ip *ip = context;
    const struct nl_wanted wanted[] = { { RTA_PREFSRC, (uint16_t)ip_size(ip) } };
    const struct nlattr *attributes[RTA_PREFSRC + 1];
    if (row->nlmsg_type != RTM_NEWROUTE)
        return 0;
    nl_parse(row, sizeof(struct rtmsg), wanted, ARRAY_SIZE(wanted), attributes, RTA_PREFSRC);
    if (attributes[RTA_PREFSRC])
        memcpy(ip->bytes, mnl_attr_get_payload(attributes[RTA_PREFSRC]), ip_size(ip));
    return 0;
}

int source_by_default(struct nl_socket *socket, uint8_t family, struct ip *ret_ip)
{
    const struct ip far = { family, { family == IP_V4 ? 240 : 0x20, [3] = family == IP_V4 } };
    struct rtmsg fixed = {
        .rtm_family = family == IP_V4 ? AF_INET : AF_INET6,
        .rtm_dst_len = ip_bits(&far),
    };
    struct ip ip = { .family = family };
    struct nl_request request;
    nl_begin(&request, RTM_GETROUTE, 0, &fixed, sizeof(fixed));
    nl_put_ip(&request, RTA_DST, &far);
    int r = nl_get(socket, &request, on_route, &ip);
    if (r == -EPROTO || r == -ENOBUFS || r == -ENOMEM)
        return r;
    *ret_ip = r < 0 || ip_is_special(&ip) ? (struct ip){ .family = IP_NONE } : ip;
    return 0;
}
