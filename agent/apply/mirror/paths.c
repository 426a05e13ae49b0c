// SPDX-License-Identifier: Apache-2.0
/*
 * Routes as paths; see paths.h.
 *
 * Every table but "local" counts: pods' routes are often in separate tables, and a VRF has one.
 * Ignored are routes that forward nothing, our own routes to svc0, and networks that every
 * interface has (link-local, multicast).
 */
#include "apply/mirror/paths.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/ours.h"

/* The relevant fields of a route's message. */
struct heard {
    struct prefix net;
    uint32_t ifindex; /* 0: it has several next hops */
    bool gateway;
    struct ip router;          /* the gateway; IP_NONE: none, or several */
    const struct nlattr *hops; /* struct rtnexthop, contiguous */
};

static bool is_of_concern(const struct nlmsghdr *message, const struct rtmsg *fixed)
{
    return mnl_nlmsg_get_payload_len(message) >= sizeof(*fixed) &&
           (fixed->rtm_family == AF_INET || fixed->rtm_family == AF_INET6) &&
           fixed->rtm_type == RTN_UNICAST && fixed->rtm_table != RT_TABLE_LOCAL &&
           fixed->rtm_protocol != ROUTE_PROTOCOL_GUARD && !(fixed->rtm_flags & RTM_F_CLONED);
}

static void take_address(struct ip *ip, enum ip_family family, const void *bytes, size_t size)
{
    struct ip address = { .family = (uint8_t)family };
    if (size != ip_size(&address))
        return;
    memcpy(address.bytes, bytes, size);
    *ip = address;
}

/* The router in an attribute: of the route's own family, or (RTA_VIA) of the other. */
static void take_router(const struct nlattr *it, enum ip_family family, struct ip *router)
{
    const size_t size = mnl_attr_get_payload_len(it);
    struct rtvia via;
    if (mnl_attr_get_type(it) == RTA_GATEWAY)
        take_address(router, family, mnl_attr_get_payload(it), size);
    if (mnl_attr_get_type(it) != RTA_VIA || size < sizeof(via))
        return;
    memcpy(&via, mnl_attr_get_payload(it), sizeof(via));
    if (via.rtvia_family == AF_INET || via.rtvia_family == AF_INET6)
        take_address(router, via.rtvia_family == AF_INET ? IP_V4 : IP_V6,
                     (const char *)mnl_attr_get_payload(it) + sizeof(via), size - sizeof(via));
}

/* Where it leads. */
static void take_hops(const struct nlmsghdr *message, struct heard *heard)
{
    const struct nlattr *it = NULL;
    while ((it = nl_next_attribute(message, sizeof(struct rtmsg), it))) {
        const uint16_t type = mnl_attr_get_type(it);
        heard->gateway |= type == RTA_GATEWAY || type == RTA_VIA;
        take_router(it, heard->net.ip.family, &heard->router);
        if (type == RTA_MULTIPATH)
            heard->hops = it;
    }
}

static bool decode(const struct nlmsghdr *message, struct heard *ret_heard)
{
    const struct rtmsg *fixed = mnl_nlmsg_get_payload(message);
    if (!is_of_concern(message, fixed))
        return false;
    struct heard heard = { .net.ip.family = fixed->rtm_family == AF_INET ? IP_V4 : IP_V6,
                           .net.length = fixed->rtm_dst_len };
    const struct nl_wanted wanted[] = {
        { RTA_DST, (uint16_t)ip_size(&heard.net.ip) },
        { RTA_OIF, sizeof(uint32_t) },
    };
    const struct nlattr *attributes[RTA_OIF + 1];
    nl_parse(message, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, RTA_OIF);
    if (heard.net.length > ip_bits(&heard.net.ip) || (heard.net.length > 0 && !attributes[RTA_DST]))
        return false;
    if (attributes[RTA_DST])
        memcpy(heard.net.ip.bytes, mnl_attr_get_payload(attributes[RTA_DST]),
               ip_size(&heard.net.ip));
    if (attributes[RTA_OIF])
        heard.ifindex = mnl_attr_get_u32(attributes[RTA_OIF]);
    take_hops(message, &heard);
    heard.gateway |= heard.net.length == 0;
    *ret_heard = heard;
    return true;
}

/* Returns 1 if it is new, 0, or -ENOMEM. */
static int add(struct sorted *paths, const struct link_path *path)
{
    if (path->ifindex == 0 || sorted_find(paths, path))
        return 0;
    int r = sorted_put(paths, path);
    return r < 0 ? r : 1;
}

/* The router itself, of a default route. */
static int add_host(struct sorted *paths, uint32_t ifindex, const struct heard *heard,
                    const struct ip *router)
{
    if (heard->net.length || router->family == IP_NONE)
        return 0;
    const struct link_path path = { .ifindex = ifindex,
                                    .kind = PATH_ROUTER,
                                    .net = { *router, (uint8_t)ip_bits(router) } };
    return add(paths, &path);
}

/* A route by a router, or a default route. */
static int add_router(struct sorted *paths, uint32_t ifindex, const struct heard *heard,
                      const struct ip *router)
{
    const struct link_path plain = { .ifindex = ifindex }, kind = {
        .ifindex = ifindex,
        .kind = heard->net.length ? PATH_VIA : PATH_DEFAULT,
        .net.ip.family = heard->net.ip.family,
    };
    int fresh = add(paths, &plain), r = fresh < 0 ? fresh : add(paths, &kind);
    fresh |= r;
    r = r < 0 ? r : add_host(paths, ifindex, heard, router);
    return r < 0 ? r : fresh | r;
}

/* The router of one of several next hops. */
static struct ip router_of(const char *hop, size_t size, enum ip_family family)
{
    struct ip router = { .family = IP_NONE };
    const size_t fixed = RTNH_ALIGN(sizeof(struct rtnexthop));
    const char *end = hop + size;
    const struct nlattr *it = (const void *)(hop + fixed);
    while (size > fixed && mnl_attr_ok(it, (int)(end - (const char *)it))) {
        take_router(it, family, &router);
        it = mnl_attr_next(it);
    }
    return router;
}

/* Several next hops are treated as routers, even if they are networks behind several interfaces. */
static int add_hops(struct sorted *paths, const struct heard *heard)
{
    const struct nlattr *hops = heard->hops;
    const char *at = mnl_attr_get_payload(hops), *end = at + mnl_attr_get_payload_len(hops);
    int fresh = 0;
    while ((size_t)(end - at) >= sizeof(struct rtnexthop)) {
        struct rtnexthop hop;
        memcpy(&hop, at, sizeof(hop));
        if (hop.rtnh_len < sizeof(hop) || hop.rtnh_len > end - at)
            break;
        const struct ip router = router_of(at, hop.rtnh_len, heard->net.ip.family);
        int r = add_router(paths, (uint32_t)hop.rtnh_ifindex, heard, &router);
        if (r < 0)
            return r;
        fresh |= r;
        at += MIN((size_t)RTNH_ALIGN(hop.rtnh_len), (size_t)(end - at));
    }
    return fresh;
}

int paths_hear(struct sorted *paths, const struct nlmsghdr *message)
{
    struct heard heard;
    if (!decode(message, &heard))
        return 0;
    if (heard.hops)
        return add_hops(paths, &heard);
    if (heard.gateway)
        return add_router(paths, heard.ifindex, &heard, &heard.router);
    if (ip_is_special(&heard.net.ip) ||
        (heard.net.ip.family == IP_V6 && heard.net.ip.bytes[0] == 0xff))
        return 0;
    return add(paths, &(struct link_path){ .ifindex = heard.ifindex, .net = heard.net });
}

static int on_route(const struct nlmsghdr *row, void *context)
{
    return MIN(paths_hear(context, row), 0);
}

/* Rows of an interrupted dump are valid as well. */
static void restart(void *context)
{
    (void)context;
}

int dump_paths(struct nl_socket *socket, struct sorted *ret_paths)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    AUTOSORTED struct sorted paths = SORTED(struct link_path, link_path_cmp);
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        const struct rtmsg fixed = { .rtm_family = families[i], .rtm_type = RTN_UNICAST };
        struct nl_request request;
        nl_begin(&request, RTM_GETROUTE, 0, &fixed, sizeof(fixed));
        int r = nl_dump(socket, &request, on_route, restart, &paths);
        if (r < 0)
            return r;
    }
    *ret_paths = TAKE_STRUCT(paths);
    return 0;
}

bool paths_may_end(const struct nlmsghdr *message)
{
    const struct rtmsg *fixed = mnl_nlmsg_get_payload(message);
    bool replaces = message->nlmsg_flags & NLM_F_REPLACE;
    return (message->nlmsg_type == RTM_DELROUTE || replaces) && is_of_concern(message, fixed) &&
           fixed->rtm_dst_len == 0;
}

bool paths_may_move(const struct sorted *paths, const struct sorted *links, const struct link *link)
{
    const struct link *old = link_find(links, link->ifindex);
    return old && old->up != link->up &&
           sorted_find(paths, &(struct link_path){ .ifindex = link->ifindex });
}

/*
 * Whether an interface leads to routers at all is kept, with what follows from it; the interfaces
 * of default routes and of routes by a router are always current.
 */
static bool is_current(const struct link_path *path)
{
    return path->kind != PATH_PLAIN;
}

/* Adds the paths of one table to the other; returns how many are new there, or -ENOMEM. */
static int copy_current(const struct sorted *from, struct sorted *to)
{
    int count = 0;
    sorted_each(const struct link_path, path, from) {
        int r = is_current(path) ? add(to, path) : 0;
        if (r < 0)
            return r;
        count += r;
    }
    return count;
}

int paths_take_defaults(struct sorted *paths, const struct sorted *fresh)
{
    int changed = copy_current(fresh, paths);
    for (size_t i = paths->count; changed >= 0 && i-- > 0;) {
        const struct link_path path = *(struct link_path *)sorted_at(paths, i);
        if (!is_current(&path) || sorted_find(fresh, &path))
            continue;
        sorted_remove(paths, &path);
        changed = 1;
    }
    return MIN(changed, 1);
}

void paths_forget(struct sorted *paths, uint32_t ifindex)
{
    const struct link_path first = { .ifindex = ifindex };
    size_t at = sorted_lower_bound(paths, &first);
    while (at < paths->count) {
        const struct link_path path = *(struct link_path *)sorted_at(paths, at);
        if (path.ifindex != ifindex)
            return;
        sorted_remove(paths, &path);
    }
}

int paths_keep_down(const struct sorted *paths, const struct sorted *links, struct sorted *fresh)
{
    sorted_each(const struct link_path, path, paths) {
        const struct link *link = link_find(links, path->ifindex);
        int r = link && !link->up ? sorted_put(fresh, path) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}
