// SPDX-License-Identifier: Apache-2.0
/*
 * The pod's end of the wire; see inside.h.
 *
 * Whoever has rights in this namespace may do to it what they like while we are here. It hurts only
 * them: the socket and the sysctls that are used from here on are this namespace's and no other's.
 *
 * No address is waited for. IPv6 addresses are added without the search for duplicates (nodad):
 * each is this node's to give, so that there can be none. Gateways are neighbours that are set and
 * stay, by the address of the node's end: nothing is asked of a neighbour table that is full, and
 * no gateway needs to be an address of the node's end. A gateway is on the link by a route of its
 * own, unless it is link-local, which always is.
 *
 * CHECK lets plugins behind this one change what they are for: "tuning" the MTU, to a smaller one,
 * "sbr" the table of routes.
 *
 * A runtime may have turned IPv6 off for new interfaces. It is turned on for this one if the pod
 * has an address of it; router advertisements are not listened to, since the routes are the plan's.
 */
#include "cni/inside.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "apply/netlink/address.h"
#include "apply/netlink/link.h"
#include "apply/netlink/neighbour.h"
#include "apply/netlink/route.h"
#include "base/cleanup.h"
#include "cni/privilege.h"
#include "cni/sysctl.h"

static const char in_the_pod[] =
    "see what else sets up this pod's network; the runtime tries again";
static const char make_anew[] = "delete the pod: its network is made anew with the next one";

int inside_enter(const struct wire *wire, struct nl_socket **ret_pod, struct cni_error *error)
{
    if (setns(wire->netns, CLONE_NEWNET) < 0)
        return cni_fail(error, CNI_IO_FAILURE, "the container may be gone; see the runtime's log",
                        "the pod's network namespace can't be entered: %s", strerror(errno));
    int r = privilege_keep(PRIVILEGE_NETWORK, error);
    if (r < 0)
        return r;
    r = nl_open(ret_pod);
    if (r < 0)
        return cni_fail(error, CNI_KERNEL_REFUSED, in_the_pod, "netlink in the pod: %s",
                        strerror(-r));
    return 0;
}

static int refused(const char *what, const char *which, int reason, const struct nl_result *result,
                   struct cni_error *error)
{
    return cni_fail(error, CNI_KERNEL_REFUSED, in_the_pod, "%s %s in the pod: %s%s%s", what, which,
                    strerror(-reason), result->text[0] ? ": " : "", result->text);
}

static bool has_v6(const struct plan *plan)
{
    vec_each(const struct prefix, it, &plan->addresses) {
        if (it->ip.family == IP_V6)
            return true;
    }
    return false;
}

static int write_v6_sysctl(const char *interface, const char *key, const char *value,
                           struct cni_error *error)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "net/ipv6/conf/%s/%s", interface, key);
    int r = sysctl_write(name, value);
    return r < 0 ? refused("sysctl", name, r, &(struct nl_result){ 0 }, error) : 0;
}

/* Before the interface is up. A kernel without IPv6 has no such settings, nor any need for them. */
static int set_v6(const struct cni_request *request, const struct plan *plan,
                  struct cni_error *error)
{
    if (!has_v6(plan))
        return 0;
    int r = write_v6_sysctl(request->interface, "disable_ipv6", "0", error);
    return r < 0 ? r : write_v6_sysctl(request->interface, "accept_ra", "0", error);
}

static int set_up(struct nl_socket *pod, struct wire *wire, const struct cni_request *request,
                  struct cni_error *error)
{
    struct nl_link link;
    struct nl_result result = { 0 };
    const struct nl_link_change up = { .state = NL_LINK_UP };
    int r = nl_link_change(pod, wire->pod_index, &up, &result);
    r = r < 0 ? r : nl_link_read(pod, wire->pod_index, &link);
    if (r < 0)
        return refused("interface", request->interface, r, &result, error);
    memcpy(wire->ends.pod_mac, link.mac, sizeof(link.mac));
    return 0;
}

static int add_addresses(struct nl_socket *pod, const struct wire *wire, const struct plan *plan,
                         struct cni_error *error)
{
    vec_each(const struct prefix, it, &plan->addresses) {
        char text[PREFIX_STRLEN];
        struct nl_result result = { 0 };
        const struct nl_address address = {
            .ifindex = wire->pod_index,
            .ip = it->ip,
            .length = it->length,
            .flags = it->ip.family == IP_V6 ? IFA_F_NODAD : 0,
            .valid_s = NL_FOREVER,
            .preferred_s = NL_FOREVER,
        };
        int r = nl_address_add(pod, &address, &result);
        if (r < 0)
            return refused("address", prefix_str(it, text), r, &result, error);
    }
    return 0;
}

static int add_neighbours(struct nl_socket *pod, const struct wire *wire, const struct plan *plan,
                          struct cni_error *error)
{
    vec_each(const struct ip, it, &plan->gateways) {
        char text[IP_STRLEN];
        struct nl_result result = { 0 };
        struct nl_neighbour neighbour = { .ifindex = wire->pod_index, .ip = *it };
        memcpy(neighbour.mac, wire->ends.host_mac, sizeof(neighbour.mac));
        int r = nl_neighbour_set(pod, &neighbour, &result);
        if (r < 0)
            return refused("gateway", ip_str(it, text), r, &result, error);
    }
    return 0;
}

static bool is_link_local(const struct ip *ip)
{
    return ip->family == IP_V6 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

/* All routes of a plan: first those that lead to the gateways. */
static int list_routes(const struct wire *wire, const struct plan *plan, nl_route_list *routes)
{
    int r = vec_reserve(routes, plan->gateways.count + plan->routes.count);
    if (r < 0)
        return r;
    vec_each(const struct ip, it, &plan->gateways) {
        if (!is_link_local(it))
            routes->items[routes->count++] =
                (struct nl_route){ .to = ip_host_prefix(it), .ifindex = wire->pod_index };
    }
    vec_each(const struct plan_route, it, &plan->routes)
        routes->items[routes->count++] =
            (struct nl_route){ .to = it->to, .via = it->via, .ifindex = wire->pod_index };
    return 0;
}

static int no_memory(struct cni_error *error)
{
    return cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
}

static int add_routes(struct nl_socket *pod, const struct wire *wire, const struct plan *plan,
                      struct cni_error *error)
{
    AUTOVEC nl_route_list routes = { 0 };
    if (list_routes(wire, plan, &routes) < 0)
        return no_memory(error);
    vec_each(const struct nl_route, it, &routes) {
        char text[PREFIX_STRLEN];
        struct nl_result result = { 0 };
        int r = nl_route_add(pod, it, &result);
        if (r < 0)
            return refused("route", prefix_str(&it->to, text), r, &result, error);
    }
    return 0;
}

static int differs(struct cni_error *error, const char *what, const char *which, const char *how)
{
    return cni_fail(error, CNI_DIFFERS, make_anew, "%s %s in the pod: %s", what, which, how);
}

/* The pod's end, by its index, is there under its name, and up. */
static int check_link(struct nl_socket *pod, const struct wire *wire,
                      const struct cni_request *request, const struct plan *plan,
                      struct cni_error *error)
{
    struct nl_link link;
    const char *name = request->interface;
    int r = nl_link_read(pod, wire->pod_index, &link);
    if (r == -ENODEV)
        return differs(error, "interface", name, "it is gone");
    if (r < 0)
        return refused("interface", name, r, &(struct nl_result){ 0 }, error);
    if (strcmp(link.name, name) != 0)
        return differs(error, "interface", name, "somebody renamed it");
    if (!link.up)
        return differs(error, "interface", name, "somebody set it down");
    if (plan->mtu && link.mtu > plan->mtu)
        return differs(error, "interface", name, "somebody raised its MTU");
    return 0;
}

int inside_wire(struct nl_socket *pod, struct wire *wire, const struct cni_request *request,
                const struct plan *plan, struct cni_error *error)
{
    int r = set_v6(request, plan, error);
    if (r < 0)
        return r;
    r = set_up(pod, wire, request, error);
    if (r < 0)
        return r;
    r = add_addresses(pod, wire, plan, error);
    if (r < 0)
        return r;
    r = add_neighbours(pod, wire, plan, error);
    if (r < 0)
        return r;
    r = add_routes(pod, wire, plan, error);
    return r < 0 ? r : check_link(pod, wire, request, plan, error);
}

static bool has_address(const nl_address_list *addresses, const struct prefix *wanted)
{
    vec_each(const struct nl_address, it, addresses) {
        if (ip_equal(&it->ip, &wanted->ip) && it->length == wanted->length)
            return true;
    }
    return false;
}

static int check_addresses(struct nl_socket *pod, const struct wire *wire, const struct plan *plan,
                           struct cni_error *error)
{
    AUTOVEC nl_address_list addresses = { 0 };
    int r = nl_address_dump(pod, wire->pod_index, &addresses);
    if (r < 0)
        return refused("addresses", "", r, &(struct nl_result){ 0 }, error);
    vec_each(const struct prefix, it, &plan->addresses) {
        char text[PREFIX_STRLEN];
        if (!has_address(&addresses, it))
            return differs(error, "address", prefix_str(it, text), "it is gone");
    }
    return 0;
}

static bool has_route(const nl_route_list *routes, const struct nl_route *wanted)
{
    vec_each(const struct nl_route, it, routes) {
        if (prefix_cmp(&it->to, &wanted->to) == 0 && ip_equal(&it->via, &wanted->via))
            return true;
    }
    return false;
}

static int check_routes(struct nl_socket *pod, const struct wire *wire, const struct plan *plan,
                        struct cni_error *error)
{
    AUTOVEC nl_route_list wanted = { 0 };
    AUTOVEC nl_route_list routes = { 0 };
    if (list_routes(wire, plan, &wanted) < 0)
        return no_memory(error);
    int r = nl_route_dump(pod, wire->pod_index, &routes);
    if (r < 0)
        return refused("routes", "", r, &(struct nl_result){ 0 }, error);
    vec_each(const struct nl_route, it, &wanted) {
        char text[PREFIX_STRLEN];
        if (!has_route(&routes, it))
            return differs(error, "route", prefix_str(&it->to, text), "it is gone");
    }
    return 0;
}

int inside_check(struct nl_socket *pod, const struct wire *wire, const struct cni_request *request,
                 const struct plan *plan, struct cni_error *error)
{
    int r = check_link(pod, wire, request, plan, error);
    if (r < 0)
        return r;
    r = check_addresses(pod, wire, plan, error);
    return r < 0 ? r : check_routes(pod, wire, plan, error);
}

int inside_find(struct nl_socket *pod, const struct cni_request *request, struct wire *wire,
                uint32_t *ret_host_index, struct cni_error *error)
{
    struct nl_link link;
    int r = nl_link_find(pod, request->interface, &link);
    if (r < 0)
        return refused("interface", request->interface, r, &(struct nl_result){ 0 }, error);
    if (strcmp(link.kind, "veth") != 0 || link.peer_nsid < 0)
        return cni_fail(error, CNI_BAD_CONFIGURATION,
                        "egress needs a plugin that connects pods by veth pairs",
                        "interface %s in the pod: it is no veth with its other end on the node",
                        request->interface);
    wire->pod_index = link.ifindex;
    memcpy(wire->ends.pod_mac, link.mac, sizeof(link.mac));
    *ret_host_index = link.peer;
    return 0;
}

bool inside_peer(struct nl_socket *pod, const struct cni_request *request, struct wire *wire,
                 uint32_t *ret_host_index)
{
    struct nl_link link;
    if (nl_link_find(pod, request->interface, &link) < 0 || strcmp(link.kind, "veth") != 0 ||
        link.peer_nsid < 0)
        return false;
    wire->pod_index = link.ifindex;
    *ret_host_index = link.peer;
    return true;
}
