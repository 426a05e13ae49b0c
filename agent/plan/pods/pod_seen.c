// SPDX-License-Identifier: Apache-2.0
/* The pod interfaces in the kernel; see pod_seen.h. Called by the pods engine in each pass. */
#include "plan/pods/pod_seen.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "base/macro.h"

static int seen_cmp(const void *a, const void *b)
{
    const struct pod_seen *left = a, *right = b;
    return pod_interface_cmp(&left->pod_interface, &right->pod_interface);
}

static int seen_order(const void *a, const void *b)
{
    const struct pod_seen *left = a, *right = b;
    int r = seen_cmp(a, b);
    return r ? r : CMP(left->ifindex, right->ifindex);
}

bool route_is_pods(const struct route *route)
{
    return (route->table == ROUTE_TABLE_MAIN || route->table == ROUTE_TABLE_COIL) &&
           route->protocol == ROUTE_PROTOCOL_BLOCK && route->type == RTN_UNICAST &&
           route->ifindex != 0 && route->gateway.family == IP_NONE &&
           route->prefix.length == ip_bits(&route->prefix.ip);
}

static int list_links(const struct sorted *links, struct pods_seen *seen)
{
    sorted_each(const struct link, link, links) {
        struct pod_seen entry = { .ifindex = link->ifindex };
        if (!pod_interface_of_alias(link->alias, &entry.pod_interface))
            continue;
        int r = vec_push(&seen->pod_interfaces, entry);
        if (r < 0)
            return r;
    }
    return 0;
}

static struct pod_seen *by_link(const struct pods_seen *seen, uint32_t ifindex)
{
    vec_each(struct pod_seen, entry, &seen->pod_interfaces) {
        if (entry->ifindex == ifindex)
            return entry;
    }
    return NULL;
}

/* Of several routes of a family the first counts; the address of a second one is unowned. */
static bool take(struct pod_seen *entry, const struct ip *ip)
{
    struct ip *own = ip->family == IP_V4 ? &entry->pod_interface.v4 : &entry->pod_interface.v6;
    if (own->family == IP_NONE)
        *own = *ip;
    return ip_equal(own, ip);
}

static int read_routes(const struct sorted *routes, const struct pod_addresses *table,
                       struct pods_seen *seen)
{
    sorted_each(const struct route, route, routes) {
        const struct ip *ip = &route->prefix.ip;
        if (!route_is_pods(route))
            continue;
        struct pod_seen *entry = by_link(seen, route->ifindex);
        if ((entry && take(entry, ip)) || !pod_block_at(table, ip))
            continue;
        int r = vec_push(&seen->unowned, (struct pod_unowned){ *ip, route->ifindex });
        if (r < 0)
            return r;
    }
    return 0;
}

static void complete(struct pod_seen *entry, const struct pod_addresses *table)
{
    struct ip *v4 = &entry->pod_interface.v4, *v6 = &entry->pod_interface.v6;
    if (v4->family == IP_NONE && v6->family != IP_NONE)
        (void)pod_address_beside(table, v6, IP_V4, v4);
    else if (v6->family == IP_NONE && v4->family != IP_NONE)
        (void)pod_address_beside(table, v4, IP_V6, v6);
}

int plan_pods_seen(const struct sorted *links, const struct sorted *routes,
                   const struct pod_addresses *table, struct pods_seen *ret_seen)
{
    CLEANUP(pods_seen_done) struct pods_seen seen = { 0 };
    int r = list_links(links, &seen);
    if (r < 0)
        return r;
    r = read_routes(routes, table, &seen);
    if (r < 0)
        return r;
    vec_each(struct pod_seen, entry, &seen.pod_interfaces)
        complete(entry, table);
    vec_sort(&seen.pod_interfaces, seen_order);
    vec_drop_equal(&seen.pod_interfaces, seen_cmp);
    *ret_seen = TAKE_STRUCT(seen);
    return 0;
}

void pods_seen_done(struct pods_seen *seen)
{
    vec_done(&seen->pod_interfaces);
    vec_done(&seen->unowned);
}

const struct pod_seen *pods_seen_find(const struct pods_seen *seen,
                                      const struct pod_interface *pod_interface)
{
    const struct pod_seen key = { .pod_interface = *pod_interface };
    return vec_find(&seen->pod_interfaces, &key, seen_cmp);
}

struct route plan_pod_route(uint32_t table, const struct ip *ip, uint32_t ifindex)
{
    return (struct route){
        .table = table,
        .prefix = ip_host_prefix(ip),
        .metric = ip->family == IP_V4 ? ROUTE_METRIC_V4 : ROUTE_METRIC_V6,
        .protocol = ROUTE_PROTOCOL_BLOCK,
        .type = RTN_UNICAST,
        .ifindex = ifindex,
    };
}
