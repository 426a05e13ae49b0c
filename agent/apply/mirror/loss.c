// SPDX-License-Identifier: Apache-2.0
/*
 * Losses from notifications; see loss.h.
 *
 * All IPv4 routes that forward are deleted without a notification together with the objects that
 * they need; IPv6 routes only with the sysctl skip_notify_on_dev_down.
 */
#include "apply/mirror/loss.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "apply/mirror/decode.h"
#include "apply/mirror/links.h"

static int hear_link(loss_list *losses, const struct nlmsghdr *message)
{
    const struct ifinfomsg *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed) ||
        (message->nlmsg_type == RTM_NEWLINK && (fixed->ifi_flags & IFF_UP)))
        return 0;
    return vec_push(losses, (struct loss){ .ifindex = (uint32_t)fixed->ifi_index });
}

static int hear_address(loss_list *losses, const struct nlmsghdr *message)
{
    const struct ifaddrmsg *fixed = mnl_nlmsg_get_payload(message);
    struct link_address address = { 0 };
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed))
        return 0;
    (void)decode_link_address(message, &address);
    return vec_push(losses, (struct loss){ fixed->ifa_index, address.ip });
}

int losses_hear(loss_list *losses, const struct nlmsghdr *message)
{
    switch (message->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return hear_link(losses, message);
    case RTM_DELADDR:
        return hear_address(losses, message);
    case RTM_DELNEXTHOP:
        return vec_push(losses, (struct loss){ .ifindex = 0 });
    default:
        return 0;
    }
}

/* A route without an interface has several next hops, or a next hop object: it may need any. */
static bool may_need(const struct route *route, const struct loss *loss)
{
    if (!route_forwards(route))
        return false;
    return loss->ifindex == 0 || route->ifindex == 0 || route->ifindex == loss->ifindex ||
           (loss->ip.family != IP_NONE && ip_equal(&route->source, &loss->ip));
}

bool losses_may_hit(const loss_list *losses, const struct sorted *routes)
{
    vec_each(const struct loss, loss, losses) {
        sorted_each(const struct route, route, routes) {
            if (may_need(route, loss))
                return true;
        }
    }
    return false;
}
