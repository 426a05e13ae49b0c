// SPDX-License-Identifier: Apache-2.0
/*
 * Routers that are not there; see nat_routers.h.
 *
 * A default route may lead to an address that nobody has (a router that was replaced, a digit that
 * is wrong): what Services answer to clients beyond is lost, and nothing else tells. The kernel
 * knows, by ARP and neighbour discovery, as soon as a packet goes there. Of a router that it does
 * not know, or not any more, it is asked to find out. One that answers costs one question a second,
 * and a packet on the wire when the kernel has heard nothing of it for about half a minute.
 */
#include "engine/nat/nat_routers.h"

#include "apply/lookup.h"
#include "apply/netlink/neighbour.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"

enum { SILENT_MS = 2000, ROUTERS_MAX = 16 };

/* What was known of it; else as if it had answered. */
static int64_t silence_before(const struct nat_routers *routers, const struct nat_router *router)
{
    vec_each(const struct nat_router, known, &routers->list) {
        if (known->ifindex == router->ifindex && ip_equal(&known->ip, &router->ip))
            return known->silent_ms;
    }
    return 0;
}

/* Takes the router's silence from what the kernel knows, which is asked to find out more. */
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
    AUTOFREE char *remedy = text_format(
        "see to that router, or have the default route lead to one that is there: ip neigh show to "
        "%s; ip route; ip -6 route",
        ip_str(&router->ip, ip));
    faults_add(faults, place ? place : "interface", remedy,
               "the router %s, to which a default route leads by %s, does not answer: what goes "
               "beyond is lost",
               ip, link->name);
}

/* The interface that the family's default route leads out of; NULL: there is none. */
static const struct link *default_link(const struct nat_engine *engine, uint8_t family)
{
    sorted_each(const struct link_way, way, kernel_ways(engine->kernel)) {
        if (way->kind == WAY_DEFAULT && way->net.ip.family == family)
            return link_find(kernel_links(engine->kernel), way->ifindex);
    }
    return NULL;
}

/* Whether a packet to nobody in particular (RFC 5737, RFC 3849) is refused in spite of it. */
static bool is_barred(const struct nat_engine *engine, const char *address)
{
    struct route_query query = { 0 };
    struct route_found found;
    return ip_parse(address, &query.destination) == 0 &&
           route_lookup(engine->socket, &query, &found) == 0 && found.refused;
}

/* The uplink whose default route is barred in this family; NULL: it is not. */
static const struct link *barred_link(const struct nat_engine *engine, uint8_t family,
                                      const char *address)
{
    const struct link *link = default_link(engine, family);
    return link && link->up && !link->unplugged && is_barred(engine, address) ? link : NULL;
}

/* A VPN's kill switch, say: a route that refuses all, of a lower metric, or by a rule. */
static void tell_barred(const struct nat_engine *engine, struct faults *faults)
{
    const struct link *v4 = barred_link(engine, IP_V4, "192.0.2.1"),
                      *v6 = barred_link(engine, IP_V6, "2001:db8::1");
    if (!v4 && !v6)
        return;
    const char *ip = v4 ? "ip" : "ip -6";
    AUTOFREE char *remedy = text_format(
        "find it (%s rule; %s route show table all default) and take it out: %s route del "
        "unreachable default (or blackhole, prohibit), or the rule that leads there%s",
        ip, ip, ip, v4 && v6 ? "; likewise with ip -6" : "");
    faults_add(faults, "routes", remedy,
               "no route leads to another router (%s): one that refuses all comes before the "
               "default route by %s",
               v4 && v6 ? "IPv4 and IPv6"
               : v4     ? "IPv4"
                        : "IPv6",
               (v4 ? v4 : v6)->name);
}

void nat_routers_look(struct nat_engine *engine, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct nat_routers fresh = { 0 };
    sorted_each(const struct link_way, way, kernel_ways(engine->kernel)) {
        const struct link *link = link_find(kernel_links(engine->kernel), way->ifindex);
        struct nat_router router = { .ifindex = way->ifindex, .ip = way->net.ip };
        if (way->kind != WAY_ROUTER || !link || !link->up || link->unplugged ||
            !link_has_neighbours(link) || fresh.list.count >= ROUTERS_MAX)
            continue;
        router.silent_ms = silence_before(&engine->routers, &router);
        look(engine, &router, now_ms);
        if (router.silent_ms && now_ms - router.silent_ms >= SILENT_MS)
            tell(&router, link, &faults);
        if (vec_push(&fresh.list, router) < 0)
            break; /* without memory, its silence begins anew */
    }
    vec_move(&engine->routers.list, &fresh.list);
    tell_barred(engine, &faults);
    nat_state_report(engine, "routers", &faults);
}
