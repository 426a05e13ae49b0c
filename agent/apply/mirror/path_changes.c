// SPDX-License-Identifier: Apache-2.0
/*
 * Changes of paths; see path_changes.h. The kernel notifies of each change of a route, except for
 * IPv4 routes that are deleted with their interface or when it is set down: those follow from the
 * change of the interface.
 *
 * Called by kernel.c for each message; writes to the events that engines read. A default route, a
 * route to other routers, and more changes than can be listed are reported as `many_paths`.
 */
#include "apply/mirror/path_changes.h"

#include <linux/rtnetlink.h>

#include "apply/mirror/watch.h"

static int note_path(struct kernel_events *events, const struct prefix *net, enum way_fate fate)
{
    if (net->ip.family == IP_NONE || net->length == 0 || events->paths.count >= PATH_CHANGES_MAX) {
        events->many_paths = true;
        return 0;
    }
    return vec_push(&events->paths, (struct path_change){ *net, fate });
}

/* The paths by an interface that was deleted, set up or down, or has lost or got its carrier. */
static int note_paths_by(struct kernel_events *events, const struct sorted *paths, uint32_t ifindex,
                         enum way_fate fate)
{
    const struct link_path first = { .ifindex = ifindex };
    int r = 0;
    for (size_t at = sorted_lower_bound(paths, &first); r == 0 && at < paths->count; at++) {
        const struct link_path *path = sorted_at(paths, at);
        if (path->ifindex != ifindex)
            break;
        r = note_path(events, &path->net, fate);
    }
    return r;
}

int path_changes_of_link(struct kernel_events *events, const struct sorted *paths,
                         const struct sorted *links, const struct nlmsghdr *message,
                         const struct link *link)
{
    const struct link *old = link_find(links, link->ifindex);
    if (message->nlmsg_type == RTM_DELLINK)
        return note_paths_by(events, paths, link->ifindex, PATH_LINK_GONE);
    if (!old || (old->up == link->up && old->unplugged == link->unplugged))
        return 0;
    return note_paths_by(events, paths, link->ifindex,
                         link->up && !link->unplugged ? WAY_CAME : PATH_WENT);
}

int path_changes_of_route(struct kernel_events *events, const struct nlmsghdr *message)
{
    struct prefix net;
    if (!watch_network(message, &net))
        return 0;
    if (net.length == 0)
        net.ip.family = IP_NONE;
    return note_path(events, &net, message->nlmsg_type == RTM_NEWROUTE ? WAY_CAME : PATH_WENT);
}
