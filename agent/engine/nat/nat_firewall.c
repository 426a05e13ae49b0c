// SPDX-License-Identifier: Apache-2.0
/*
 * The probe of the host's firewall; see nat_firewall.h. The upkeep calls it every second.
 *
 * What comes by an uplink and is for a pod of this node goes through netfilter with the client's
 * address. A host whose FORWARD chain drops it looks healthy from everywhere else: programs, maps
 * and routes are as planned. So packets as a client would send them go that way, and are caught
 * where they leave to the pod (apply/nat/passage.c), which never gets one.
 *
 * One pod may be closed by a NetworkPolicy, one source by the filter of an edge. So the fault is
 * that nothing passes by an uplink and of a protocol: not to the first pods of several Services,
 * neither from a neighbour in the cluster nor from a stranger, and that twice. Where one packet
 * passes, the firewall knows of pods. Of more uplinks those are tried that lead to other routers: a
 * network of storage may well be closed.
 *
 * Asked is only where netfilter has somebody who judges (listeners.h), where the kernel's own
 * lookup has the way, so that routes, forwarding and rp_filter are others' faults, and for TCP and
 * UDP.
 */
#include "engine/nat/nat_firewall.h"

#include <stdio.h>
#include <string.h>

#include "apply/lookup.h"
#include "base/clock.h"
#include "base/macro.h"
#include "engine/nat/nat_path.h"
#include "engine/nat/nat_state.h"

enum {
    PODS = 3,       /* so many are asked for, each of another Service */
    CALM_MS = 5000, /* between two looks, while packets pass */
    TELL_AFTER = 2, /* looks without a packet that passed */
};

/* What a look has found of an aim. */
struct found {
    unsigned sent;
    bool passed;
    struct passage_way last; /* the last one that did not pass */
};

/* Whether it carries our programs, and packets there have an Ethernet header. */
static bool is_served(const struct nat_engine *engine, uint32_t ifindex)
{
    vec_each(const struct nat_attachment, it, &engine->node.wanted) {
        if (it->ifindex == ifindex)
            return !it->bare;
    }
    return false;
}

/* The way of a packet from a source to an endpoint, by the kernel's own lookup. */
static bool find_way(const struct nat_engine *engine, const struct firewall_aim *aim,
                     const struct ip *source, const struct nat_endpoint *endpoint,
                     struct passage_way *ret_way)
{
    const struct route_query query = { endpoint->ip, *source, aim->uplink };
    struct passage_way way = { .in = aim->uplink,
                               .source = *source,
                               .destination = endpoint->ip,
                               .destination_port = endpoint->port,
                               .protocol = aim->protocol,
                               .mark = nat_path_mark(engine->config) };
    const struct link *link = link_find(kernel_links(engine->kernel), aim->uplink);
    struct route_found route;

    if (route_lookup(engine->socket, &query, &route) < 0 || route.type != RTN_UNICAST)
        return false;
    if (!link || !link->up || link->unplugged || !is_served(engine, aim->uplink) ||
        !is_served(engine, route.ifindex))
        return false;
    way.out = route.ifindex;
    memcpy(way.in_mac, link->mac, sizeof(way.in_mac));
    *ret_way = way;
    return true;
}

static void try_source(struct nat_engine *engine, const struct firewall_aim *aim,
                       const struct ip *source, const struct nat_endpoint *endpoint,
                       struct found *found)
{
    struct passage_way way;
    if (found->passed || source->family != endpoint->ip.family ||
        !find_way(engine, aim, source, endpoint, &way))
        return;
    int r = passage_try(engine->firewall.passage, engine->socket, &way);
    if (r < 0)
        return;
    found->sent++;
    found->passed = r > 0;
    found->last = way;
}

/* From a neighbour in the cluster, then from a stranger. */
static void try_endpoint(struct nat_engine *engine, const struct firewall_aim *aim,
                         const struct nat_endpoint *endpoint, struct found *found)
{
    const struct nat_settings *settings = &engine->node.settings;
    const struct probe_origins *origins = &engine->node.origins;
    for (size_t i = 0; i < settings->peer_count; i++) {
        if (settings->peers[i].family != endpoint->ip.family)
            continue;
        try_source(engine, aim, &settings->peers[i], endpoint, found);
        break;
    }
    try_source(engine, aim, &origins->of[NAT_ORIGIN_OUTSIDE].v4, endpoint, found);
    try_source(engine, aim, &origins->of[NAT_ORIGIN_OUTSIDE].v6, endpoint, found);
}

/* A pod of this node that a Service forwards a protocol to from outside; NULL: it has none. */
static const struct nat_endpoint *pod_of(const struct nat_family *family, enum protocol protocol)
{
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        const struct nat_port *port = &family->ports.items[frontend->port_index];
        if (frontend->protocol == protocol && port->sets[NAT_SET_LOCAL].count &&
            frontend->from[NAT_ORIGIN_OUTSIDE].act == NAT_ACT_FORWARD)
            return &port->sets[NAT_SET_LOCAL].items[0];
    }
    return NULL;
}

static struct found look(struct nat_engine *engine, const struct firewall_aim *aim)
{
    struct found found = { 0 };
    size_t pods = 0;
    sorted_each(const struct nat_row *, row, &engine->rows) {
        for (uint32_t i = 0; i < (*row)->family_count && pods < PODS && !found.passed; i++) {
            const struct nat_family *planned = &(*row)->families[i];
            const struct nat_endpoint *pod =
                planned->family == aim->family ? pod_of(planned, aim->protocol) : NULL;
            if (pod)
                try_endpoint(engine, aim, pod, &found);
            pods += pod != NULL;
        }
    }
    return found;
}

static void tell(const struct nat_engine *engine, const struct found *found, struct faults *faults)
{
    char source[IP_STRLEN], destination[IP_STRLEN];
    const bool six = found->last.destination.family == IP_V6;
    const struct link *link = link_find(kernel_links(engine->kernel), found->last.in);
    faults_add(faults, six ? "firewall, IPv6" : "firewall, IPv4",
               "accept in the host's forward chains what is for pods and comes from them; see: nft "
               "list ruleset; iptables-save (a NetworkPolicy that lets nobody in does the same)",
               "netfilter on this node drops what Services forward to its pods: of %u packets of "
               "ours by %s none came through, the last from %s to %s port %u/%s",
               found->sent, link ? link->name : "an uplink", ip_str(&found->last.source, source),
               ip_str(&found->last.destination, destination), found->last.destination_port,
               protocol_name(found->last.protocol));
}

/* Whether clients come by an uplink: the one that the proofs come by, or one that leads to routers.
 */
static bool is_way_in(const struct nat_engine *engine, uint32_t uplink, uint8_t family)
{
    if (uplink == engine->node.origins.of[NAT_ORIGIN_OUTSIDE].ifindex)
        return true;
    struct link_way way = { .ifindex = uplink, .kind = WAY_DEFAULT, .net.ip.family = family };
    const struct sorted *ways = kernel_ways(engine->kernel);
    bool found = sorted_find(ways, &way);
    way.kind = WAY_VIA;
    return found || sorted_find(ways, &way);
}

/* The first aim of a family of which nothing passes, and what was found of it. */
static bool find_closed(struct nat_engine *engine, uint8_t family, struct firewall_aim *ret_aim,
                        struct found *ret_found)
{
    static const enum protocol protocols[] = { PROTOCOL_TCP, PROTOCOL_UDP };
    vec_each(const struct nat_attachment, it, &engine->node.wanted) {
        if (it->hook != NAT_HOOK_UPLINK_IN || !is_way_in(engine, it->ifindex, family))
            continue;
        for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
            const struct firewall_aim aim = { it->ifindex, family, protocols[i] };
            const struct found found = look(engine, &aim);
            if (!found.sent || found.passed)
                continue;
            *ret_aim = aim;
            *ret_found = found;
            return true;
        }
    }
    return false;
}

/* Looks in one family; tells what is so for the second time. Returns whether all is well. */
static bool judge(struct nat_engine *engine, uint8_t family, struct firewall_miss *miss,
                  struct faults *faults)
{
    struct firewall_aim aim;
    struct found found;
    if (!find_closed(engine, family, &aim, &found)) {
        miss->looks = 0;
        return true;
    }
    bool again = miss->aim.uplink == aim.uplink && miss->aim.protocol == aim.protocol;
    *miss = (struct firewall_miss){ aim, again ? miss->looks + 1 : 1 };
    if (miss->looks >= TELL_AFTER)
        tell(engine, &found, faults);
    return false;
}

static bool is_open(struct nat_firewall *firewall)
{
    if (!firewall->passage && !firewall->refused)
        firewall->refused = passage_open(&firewall->passage) < 0;
    return firewall->passage;
}

void nat_firewall_look(struct nat_engine *engine, int64_t now_ms)
{
    struct nat_firewall *firewall = &engine->firewall;
    AUTOFAULTS struct faults faults = { 0 };

    if (!engine->synced || (engine->judged && now_ms < firewall->due_ms))
        return;
    firewall->due_ms = now_ms;
    if (engine->judged && is_open(firewall)) {
        bool four = judge(engine, IP_V4, &firewall->misses[0], &faults);
        bool six = judge(engine, IP_V6, &firewall->misses[1], &faults);
        firewall->due_ms += four && six ? CALM_MS : 0;
    }
    nat_state_report(engine, "firewall", &faults);
}
