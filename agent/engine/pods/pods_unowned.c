// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses of this node's blocks to which a route leads by an interface without a known pod: they
 * are assigned to no pod, and each is a fault. Called by pods_follow.c in each check of the kernel.
 * The mirror has the routes of pods (protocol 30). Of all other routes it only holds the interfaces
 * of host routes seen since it was read; whether one still exists is queried from the kernel once a
 * second while there is reason to.
 */
#include <errno.h>

#include "apply/lookup.h"
#include "base/clock.h"
#include "engine/pods/pods_state.h"
#include "faults/pods.h"
#include "faults/raise.h"

/* Whether a foreign host route into our blocks was seen. */
static bool is_suspect(const struct pods_engine *pods, const struct link_path *path)
{
    struct pod_interface pod_interface;
    const struct link *link = link_find(kernel_links(pods->setup.kernel), path->ifindex);
    return path->kind == PATH_PLAIN && path->net.ip.family != IP_NONE &&
           path->net.length == ip_bits(&path->net.ip) && link && !link_is_svc0(link) &&
           !pod_interface_of_alias(link->alias, &pod_interface) &&
           pod_block_at(&pods->addresses, &path->net.ip);
}

static bool is_known(const struct pods_seen *seen, const struct ip *ip)
{
    vec_each(const struct pod_unowned, address, &seen->unowned) {
        if (ip_equal(&address->ip, ip))
            return true;
    }
    return false;
}

/* Adds those that the kernel still routes so. Returns 0 or -ENOMEM. */
static int add_foreign(struct pods_engine *pods, int64_t now_ms, struct pods_seen *seen)
{
    pods->unowned_ms = INT64_MAX;
    sorted_each(const struct link_path, path, kernel_paths(pods->setup.kernel)) {
        const struct route_query query = { .destination = path->net.ip };
        struct route_found found;
        if (!is_suspect(pods, path))
            continue;
        pods->unowned_ms = now_ms + SECOND_MS;
        if (is_known(seen, &path->net.ip) || route_lookup(pods->socket, &query, &found) < 0 ||
            found.ifindex != path->ifindex)
            continue;
        if (vec_push(&seen->unowned, (struct pod_unowned){ path->net.ip, path->ifindex }) < 0)
            return -ENOMEM;
    }
    return 0;
}

int pods_follow_unowned(struct pods_engine *pods, struct pods_seen *seen, int64_t now_ms,
                        struct faults *faults)
{
    AUTOVEC ip_list unowned = { 0 };
    int r = add_foreign(pods, now_ms, seen);
    if (r < 0)
        return r;
    vec_each(const struct pod_unowned, address, &seen->unowned) {
        char ip[IP_STRLEN];
        const struct link *link = link_find(kernel_links(pods->setup.kernel), address->ifindex);
        r = vec_push(&unowned, address->ip);
        if (r < 0)
            return r;
        fault_raise(faults, ip_str(&address->ip, ip), pod_address_stray,
                    .interface = link ? link->name : "an interface that is gone");
    }
    return pod_addresses_set_unowned(&pods->addresses, &unowned);
}
