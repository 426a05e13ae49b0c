// SPDX-License-Identifier: Apache-2.0
/*
 * Unreachable routers; see nat_routers.h. A default route may lead to an address that no host has
 * (a replaced router, a wrong digit): replies of Services to clients beyond it are lost, and
 * nothing else reports it. The kernel detects this by ARP and neighbour discovery as soon as a
 * packet is sent there. For a router without a valid neighbour entry, the kernel is asked to
 * resolve it. A router that answers costs two queries a second, and a packet on the wire when the
 * kernel has had no confirmation of it for about half a minute.
 */
#include "engine/nat/host/nat_routers.h"

#include <string.h>

#include "apply/lookup.h"
#include "apply/netlink/neighbour.h"
#include "apply/settings.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { SILENT_MS = 2000, ROUTERS_MAX = 16 };

static const unsigned lost_after = 2;

/* The silence known so far; otherwise as if the router had answered. */
static int64_t silence_before(const struct nat_routers *routers, const struct nat_router *router)
{
    vec_each(const struct nat_router, known, &routers->list) {
        if (known->ifindex == router->ifindex && ip_equal(&known->ip, &router->ip))
            return known->silent_ms;
    }
    return 0;
}

/*
 * Updates the router's silence from the kernel's neighbour entry, and has the kernel resolve it if
 * needed.
 */
static void look(const struct nat_engine *engine, struct nat_router *router, int64_t now_ms)
{
    bool answers;
    if (nl_neighbour_check(engine->socket, router->ifindex, &router->ip, &answers) < 0)
        return;
    if (answers)
        router->silent_ms = 0;
    else if (router->silent_ms == 0)
        router->silent_ms = now_ms;
}

bool nat_routers_silent(const struct nat_engine *engine)
{
    vec_each(const struct nat_router, router, &engine->routers.list) {
        if (router->silent_ms)
            return true;
    }
    return false;
}

static void tell(const struct nat_router *router, const struct link *link, struct faults *faults)
{
    char ip[IP_STRLEN];
    AUTOFREE char *place = text_format("interface %s", link->name);
    fault_raise(faults, place, nat_router_silent, .router = ip_str(&router->ip, ip),
                .interface = link->name);
}

/* The output interface of the family's default route; NULL: there is none. */
static const struct link *default_link(const struct nat_engine *engine, uint8_t family)
{
    sorted_each(const struct link_path, path, kernel_paths(engine->kernel)) {
        if (path->kind == PATH_DEFAULT && path->net.ip.family == family)
            return link_find(kernel_links(engine->kernel), path->ifindex);
    }
    return NULL;
}

/* Whether a packet to an unassigned address (RFC 5737, RFC 3849) is refused in spite of it. */
static bool is_barred(const struct nat_engine *engine, const char *address)
{
    struct route_query query = { 0 };
    struct route_found found;
    return ip_parse(address, &query.destination) == 0 &&
           route_lookup(engine->socket, &query, &found) == 0 && found.refused;
}

/* The uplink whose default route is overridden in this family; NULL: none. */
static const struct link *barred_link(const struct nat_engine *engine, uint8_t family,
                                      const char *address)
{
    const struct link *link = default_link(engine, family);
    return link && link->up && !link->unplugged && is_barred(engine, address) ? link : NULL;
}

/*
 * For example a VPN's kill switch: a route that refuses all traffic, with a lower metric or by a
 * rule.
 */
static void tell_barred(const struct nat_engine *engine, struct faults *faults)
{
    const struct link *v4 = barred_link(engine, IP_V4, "192.0.2.1"),
                      *v6 = barred_link(engine, IP_V6, "2001:db8::1");
    if (!v4 && !v6)
        return;
    fault_raise(faults, "routes", nat_default_route_barred,
                .families = v4 && v6 ? "IPv4 and IPv6"
                            : v4     ? "IPv4"
                                     : "IPv6",
                .interface = (v4 ? v4 : v6)->name, .ip = v4 ? "ip" : "ip -6", .both = v4 && v6);
}

/* The router of a family that is in the list. */
static const struct nat_router *router_of(const struct nat_routers *routers, uint8_t family)
{
    vec_each(const struct nat_router, router, &routers->list) {
        if (router->ip.family == family)
            return router;
    }
    return NULL;
}

static bool has_way(const struct nat_engine *engine, uint8_t family)
{
    sorted_each(const struct link_path, path, kernel_paths(engine->kernel)) {
        if (path->net.ip.family == family && path->kind != PATH_PLAIN)
            return true;
    }
    return false;
}

/* Whether its interface is gone, which is reported separately. */
static bool went_with_link(const struct nat_engine *engine, const struct nat_lost_default *lost)
{
    const struct link *link = link_find(kernel_links(engine->kernel), lost->last.ifindex);
    return !link || !link->up || link->unplugged;
}

/*
 * The kernel deletes the default route of router advertisements when forwarding is switched on, and
 * accepts no new one unless accept_ra is 2.
 */
static char *advertised_remedy(const char *name)
{
    AUTOFREE char *key = setting_key("ipv6", name, "accept_ra");
    long value;
    if (!key || setting_read(key, &value) < 0 || value != 1)
        return NULL;
    return text_format(" (where routers announce it: sysctl -w %s=2, since this node forwards)",
                       key);
}

static void tell_lost(const struct nat_engine *engine, const struct nat_lost_default *lost,
                      struct faults *faults)
{
    char ip[IP_STRLEN];
    const bool six = lost->last.ip.family == IP_V6;
    const struct link *link = link_find(kernel_links(engine->kernel), lost->last.ifindex);
    AUTOFREE char *advertised = six ? advertised_remedy(link->name) : NULL;
    fault_raise(faults, "routes", nat_default_route_gone, .family = six ? "IPv6" : "IPv4",
                .router = ip_str(&lost->last.ip, ip), .interface = link->name,
                .ip = six ? "ip -6" : "ip", .advertised = advertised);
}

/*
 * Not every network has both families, so only a default route that existed is missed. If there is
 * none in either family, plan/nat/nat_hooks.c reports that.
 */
static void look_at_default(struct nat_engine *engine, uint8_t family, struct faults *faults)
{
    struct nat_lost_default *lost = &engine->routers.lost[family == IP_V6];
    const struct nat_router *router = router_of(&engine->routers, family);
    if (router)
        *lost = (struct nat_lost_default){ .last = *router, .known = true };
    if (!lost->known || has_way(engine, family) || went_with_link(engine, lost)) {
        lost->looks = 0;
        return;
    }
    lost->looks = MIN(lost->looks + 1, lost_after);
    if (lost->looks == lost_after && has_way(engine, family == IP_V6 ? IP_V4 : IP_V6))
        tell_lost(engine, lost, faults);
}

void nat_routers_forget(struct nat_engine *engine)
{
    memset(engine->routers.lost, 0, sizeof(engine->routers.lost));
}

void nat_routers_look(struct nat_engine *engine, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct nat_routers fresh = { 0 };
    sorted_each(const struct link_path, path, kernel_paths(engine->kernel)) {
        const struct link *link = link_find(kernel_links(engine->kernel), path->ifindex);
        struct nat_router router = { .ifindex = path->ifindex, .ip = path->net.ip };
        if (path->kind != PATH_ROUTER || !link || !link->up || link->unplugged ||
            !link_has_neighbours(link) || fresh.list.count >= ROUTERS_MAX)
            continue;
        router.silent_ms = silence_before(&engine->routers, &router);
        look(engine, &router, now_ms);
        if (router.silent_ms && now_ms - router.silent_ms >= SILENT_MS)
            tell(&router, link, &faults);
        if (vec_push(&fresh.list, router) < 0)
            break; /* without memory, its silence is counted from now */
    }
    vec_move(&engine->routers.list, &fresh.list);
    tell_barred(engine, &faults);
    look_at_default(engine, IP_V4, &faults);
    look_at_default(engine, IP_V6, &faults);
    nat_state_report(engine, "routers", &faults);
}
