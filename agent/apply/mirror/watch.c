// SPDX-License-Identifier: Apache-2.0
/* Routes to watched addresses; see watch.h. */
#include "apply/mirror/watch.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/netlink/nl.h"
#include "base/net/ip.h"

bool watch_network(const struct nlmsghdr *message, struct prefix *ret_network)
{
    const struct rtmsg *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed) ||
        (fixed->rtm_family != AF_INET && fixed->rtm_family != AF_INET6) ||
        fixed->rtm_table == RT_TABLE_LOCAL || fixed->rtm_flags & RTM_F_CLONED)
        return false;
    struct prefix network = { .ip.family = fixed->rtm_family == AF_INET ? IP_V4 : IP_V6,
                              .length = fixed->rtm_dst_len };
    const struct nl_wanted wanted[] = { { RTA_DST, (uint16_t)ip_size(&network.ip) } };
    const struct nlattr *attributes[RTA_DST + 1];
    nl_parse(message, sizeof(*fixed), wanted, 1, attributes, RTA_DST);
    if (network.length > ip_bits(&network.ip) || (network.length > 0 && !attributes[RTA_DST]))
        return false;
    if (attributes[RTA_DST])
        memcpy(network.ip.bytes, mnl_attr_get_payload(attributes[RTA_DST]), ip_size(&network.ip));
    *ret_network = network;
    return true;
}

bool watch_hears(const struct sorted *addresses, const struct nlmsghdr *message)
{
    struct prefix network;
    if (addresses->count == 0 || !watch_network(message, &network))
        return false;
    sorted_each(const struct ip, address, addresses) {
        if (prefix_contains(&network, address))
            return true;
    }
    return false;
}
