// SPDX-License-Identifier: Apache-2.0
/*
 * Changes of ways; see way_changes.h. Of routes the kernel tells each, but for IPv4 routes that go
 * with their interface or when it is set down: those are told from the interface.
 *
 * Called by kernel.c as it hears, into the events that engines read. A default route, one to other
 * routers, and more changes than anybody could follow are told as `many_ways`.
 */
#include "apply/mirror/way_changes.h"

#include <linux/rtnetlink.h>

#include "apply/mirror/watch.h"

static int note_way(struct kernel_events *events, const struct prefix *net, enum way_fate fate)
{
    if (net->ip.family == IP_NONE || net->length == 0 || events->ways.count >= WAY_CHANGES_MAX) {
        events->many_ways = true;
        return 0;
    }
    return vec_push(&events->ways, (struct way_change){ *net, fate });
}

/* The ways by an interface, which went, or is up or down now, or has lost or got its carrier. */
static int note_ways_by(struct kernel_events *events, const struct sorted *ways, uint32_t ifindex,
                        enum way_fate fate)
{
    const struct link_way first = { .ifindex = ifindex };
    int r = 0;
    for (size_t at = sorted_lower_bound(ways, &first); r == 0 && at < ways->count; at++) {
        const struct link_way *way = sorted_at(ways, at);
        if (way->ifindex != ifindex)
            break;
        r = note_way(events, &way->net, fate);
    }
    return r;
}

int way_changes_of_link(struct kernel_events *events, const struct sorted *ways,
                        const struct sorted *links, const struct nlmsghdr *message,
                        const struct link *link)
{
    const struct link *old = link_find(links, link->ifindex);
    if (message->nlmsg_type == RTM_DELLINK)
        return note_ways_by(events, ways, link->ifindex, WAY_LINK_GONE);
    if (!old || (old->up == link->up && old->unplugged == link->unplugged))
        return 0;
    return note_ways_by(events, ways, link->ifindex,
                        link->up && !link->unplugged ? WAY_CAME : WAY_WENT);
}

int way_changes_of_route(struct kernel_events *events, const struct nlmsghdr *message)
{
    struct prefix net;
    if (!watch_network(message, &net))
        return 0;
    if (net.length == 0)
        net.ip.family = IP_NONE;
    return note_way(events, &net, message->nlmsg_type == RTM_NEWROUTE ? WAY_CAME : WAY_WENT);
}
