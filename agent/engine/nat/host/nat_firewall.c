// SPDX-License-Identifier: Apache-2.0
/*
 * The probe of the host's firewall; see nat_firewall.h. The upkeep calls it twice a second.
 *
 * A packet that enters by an uplink for a pod of this node traverses netfilter with the client's
 * address. A host whose FORWARD chain drops it looks healthy otherwise: programs, maps and routes
 * are as planned. So test packets like those of a client take this path, and are caught where they
 * leave to the pod (apply/nat/proof/passage.c); the pod never receives one. For a packet that
 * passed, a reply like the pod's is sent from the host end of the pod's interface, and caught at
 * the uplink: rules may drop only what comes from pods. The reply belongs to a second packet like
 * the first, of another port: connection tracking considers a replied connection established, and
 * accepts its packets from then on.
 *
 * One pod may be isolated by a NetworkPolicy, one source by an edge filter. So the fault is raised
 * if nothing passes by an uplink and of a protocol: not to the first pods of several Services,
 * neither from a neighbour in the cluster nor from an outside address, and in two consecutive
 * checks; likewise for replies. If one packet passes, the firewall is set up for pods. Of further
 * uplinks only those that lead to other routers are tested: a storage network may well be closed.
 *
 * The check runs only where netfilter has hooks that may drop packets (listeners.h), or XFRM has
 * policies, which may block; where the kernel's own lookup finds the route, so that routes,
 * forwarding and rp_filter are left to other faults; and for TCP and UDP. Replies that XFRM
 * policies may encrypt are not sent, because they could not be recognized; and no replies are sent
 * while a router of a default route does not answer, because the neighbour would not be resolved in
 * time.
 */
#include "engine/nat/host/nat_firewall.h"

#include <stdio.h>
#include <string.h>

#include "apply/lookup.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/ours.h"
#include "base/text.h"
#include "engine/nat/host/nat_path.h"
#include "engine/nat/nat_state.h"
#include "engine/nat/pods/nat_answers.h"
#include "engine/nat/pods/nat_samples.h"
#include "faults/firewall.h"
#include "faults/raise.h"

enum {
    CALM_MS = 5000, /* between two checks, while packets pass */
    TELL_AFTER = 2, /* consecutive checks without a packet that passed */
};

/* The results for the packets of one direction. */
struct passing {
    unsigned sent;
    bool passed;
    struct passage_way last; /* the last one that did not pass */
};

/* Findings of a check about an aim: for requests, and for replies to those that passed. */
struct found {
    struct passing asked, answered;
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

/* The path of a packet from a source to an endpoint, by the kernel's own lookup. */
static bool find_way(const struct nat_engine *engine, const struct firewall_aim *aim,
                     const struct ip *source, const struct nat_endpoint *endpoint,
                     struct passage_way *ret_way)
{
    const struct route_query query = { endpoint->ip, *source, aim->uplink };
    struct passage_way path = { .in = aim->uplink,
                                .source = *source,
                                .destination = endpoint->ip,
                                .source_port = OURS_ASKING_PORT,
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
    path.out = route.ifindex;
    memcpy(path.in_mac, link->mac, sizeof(path.in_mac));
    *ret_way = path;
    return true;
}

/* Sends one packet. Returns whether it passed. */
static bool try_way(struct nat_engine *engine, const struct passage_way *path,
                    struct passing *passing)
{
    int r = passage_try(engine->firewall.passage, engine->socket, path);
    if (r < 0)
        return false;
    passing->sent++;
    passing->passed |= r > 0;
    if (r == 0)
        passing->last = *path;
    return r > 0;
}

/* The path of the reply to a packet: from where it left to an uplink that carries our programs. */
static bool find_answer(const struct nat_engine *engine, const struct passage_way *path,
                        struct passage_way *ret_answer)
{
    const struct link *link = link_find(kernel_links(engine->kernel), path->out);
    struct answer_way found;
    if (!link || nat_answer_way(engine, &path->destination, &path->source, &found) <= 0 ||
        found.in != path->out || !is_served(engine, found.out))
        return false;
    *ret_answer = (struct passage_way){
        .in = found.in,
        .out = found.out,
        .source = path->destination,
        .destination = path->source,
        .source_port = path->destination_port,
        .destination_port = path->source_port,
        .protocol = path->protocol,
        .answers = true,
    };
    memcpy(ret_answer->in_mac, link->mac, sizeof(ret_answer->in_mac));
    return true;
}

/* Tries the reply on a path on which a packet has passed. */
static void try_answer(struct nat_engine *engine, const struct passage_way *path,
                       struct passing *passing)
{
    struct passage_way question = *path, answer;
    struct passing ignored = { 0 };
    question.source_port = OURS_ANSWERED_PORT;
    if (engine->seals || nat_routers_silent(engine) || !find_answer(engine, &question, &answer))
        return;
    if (try_way(engine, &question, &ignored))
        (void)try_way(engine, &answer, passing);
}

static void try_source(struct nat_engine *engine, const struct firewall_aim *aim,
                       const struct ip *source, const struct nat_endpoint *endpoint,
                       struct found *found)
{
    struct passage_way path;
    if (!find_way(engine, aim, source, endpoint, &path))
        return;
    if (try_way(engine, &path, &found->asked))
        try_answer(engine, &path, &found->answered);
}

/* Whether further packets would give no more information. */
static bool is_open_way(const struct found *found)
{
    return found->asked.passed && (found->answered.passed || found->answered.sent == 0);
}

static struct found look(struct nat_engine *engine, const struct firewall_aim *aim)
{
    const struct nat_endpoint *pods[NAT_SAMPLE_PODS];
    struct ip clients[NAT_SAMPLE_CLIENTS];
    struct found found = { 0 };
    const size_t pod_count = nat_sample_pods(engine, aim->family, aim->protocol, pods);
    const size_t client_count = nat_sample_clients(engine, aim->family, clients);

    for (size_t i = 0; i < pod_count * client_count && !is_open_way(&found); i++)
        try_source(engine, aim, &clients[i % client_count], pods[i / client_count], &found);
    return found;
}

static const char *name_of(const struct nat_engine *engine, uint32_t ifindex)
{
    const struct link *link = link_find(kernel_links(engine->kernel), ifindex);
    return link ? link->name : "an interface";
}

/* The packets may be dropped before all forward chains: at ingress. */
static void tell_asked(const struct nat_engine *engine, const struct passage_way *last,
                       unsigned sent, struct faults *faults)
{
    char source[IP_STRLEN], destination[IP_STRLEN];
    const char *place = last->destination.family == IP_V6 ? "firewall, IPv6" : "firewall, IPv4";
    const struct fault_firewall_drops_early asked = {
        .sent = sent,
        .interface = name_of(engine, last->in),
        .source = ip_str(&last->source, source),
        .destination = ip_str(&last->destination, destination),
        .port = last->destination_port,
        .protocol = protocol_name(last->protocol),
        .chain = engine->early,
    };
    const struct fault_type *type = engine->seals    ? &fault_type_firewall_or_xfrm_drops_requests
                                    : *engine->early ? &fault_type_firewall_drops_early
                                                     : &fault_type_firewall_drops_requests;
    fault_raise_type(faults, place, type, &asked); /* same arguments, except the last */
}

static void tell_answered(const struct nat_engine *engine, const struct passage_way *last,
                          unsigned sent, struct faults *faults)
{
    char source[IP_STRLEN], destination[IP_STRLEN];
    fault_raise(faults, last->destination.family == IP_V6 ? "firewall, IPv6" : "firewall, IPv4",
                firewall_drops_replies, .sent = sent, .interface = name_of(engine, last->in),
                .out = name_of(engine, last->out), .source = ip_str(&last->source, source),
                .port = last->source_port, .protocol = protocol_name(last->protocol),
                .destination = ip_str(&last->destination, destination));
}

/* If both directions fail, requests are reported first. */
static void tell(const struct nat_engine *engine, const struct found *found, struct faults *faults)
{
    if (!found->asked.passed)
        tell_asked(engine, &found->asked.last, found->asked.sent, faults);
    else
        tell_answered(engine, &found->answered.last, found->answered.sent, faults);
}

/* Whether clients enter by an uplink: the uplink of the proofs, or one that leads to routers. */
static bool is_way_in(const struct nat_engine *engine, uint32_t uplink, uint8_t family)
{
    if (uplink == engine->node.origins.of[NAT_ORIGIN_OUTSIDE].ifindex)
        return true;
    struct link_path path = { .ifindex = uplink, .kind = PATH_DEFAULT, .net.ip.family = family };
    const struct sorted *paths = kernel_paths(engine->kernel);
    bool found = sorted_find(paths, &path);
    path.kind = PATH_VIA;
    return found || sorted_find(paths, &path);
}

/* The bit of a protocol for which packets are sent; SCTP has none. */
static unsigned bit_of(enum protocol protocol)
{
    return protocol == PROTOCOL_TCP ? 1 : protocol == PROTOCOL_UDP ? 2 : 0;
}

/*
 * Finds the first aim of a family of which no packet passes, and its findings. Returns the bits of
 * all protocols of which no packet passes by some uplink.
 */
static unsigned find_closed(struct nat_engine *engine, uint8_t family, struct firewall_aim *ret_aim,
                            struct found *ret_found)
{
    unsigned closed = 0;
    static const enum protocol protocols[] = { PROTOCOL_TCP, PROTOCOL_UDP };
    vec_each(const struct nat_attachment, it, &engine->node.wanted) {
        if (it->hook != NAT_HOOK_UPLINK_IN || !is_way_in(engine, it->ifindex, family))
            continue;
        for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
            const struct firewall_aim aim = { it->ifindex, family, protocols[i] };
            const struct found found = look(engine, &aim);
            if (!found.asked.sent || is_open_way(&found))
                continue;
            if (!closed) {
                *ret_aim = aim;
                *ret_found = found;
            }
            closed |= bit_of(protocols[i]);
        }
    }
    return closed;
}

static bool withdraws(const struct nat_engine *engine)
{
    return engine->config->services.firewall_fault == FIREWALL_FAULT_WITHDRAW;
}

static void set_closed(struct nat_engine *engine, uint8_t family, unsigned closed)
{
    unsigned *known = &engine->firewall.closed[family == IP_V6];
    engine->firewall.moved |= *known != closed && withdraws(engine);
    *known = closed;
}

/*
 * Checks one family; reports a result that is found for the second time. Returns whether all is
 * well.
 */
static bool judge(struct nat_engine *engine, uint8_t family, struct firewall_miss *miss,
                  struct faults *faults)
{
    struct firewall_aim aim;
    struct found found;
    const unsigned closed = find_closed(engine, family, &aim, &found);
    if (!closed) {
        miss->looks = 0;
        set_closed(engine, family, 0);
        return true;
    }
    bool again = miss->aim.uplink == aim.uplink && miss->aim.protocol == aim.protocol;
    *miss = (struct firewall_miss){ aim, again ? miss->looks + 1 : 1 };
    if (miss->looks >= TELL_AFTER) {
        tell(engine, &found, faults);
        set_closed(engine, family, closed);
    }
    return false;
}

/* Whether a hook or policy may drop packets. */
static bool is_asked(const struct nat_engine *engine)
{
    return engine->judged || engine->seals;
}

/* Opened before any packet is sent: loading programs takes long, and would delay the check. */
static bool is_open(struct nat_firewall *firewall)
{
    if (!firewall->passage && !firewall->refused)
        firewall->refused = passage_open(&firewall->passage) < 0;
    return firewall->passage;
}

bool nat_firewall_look(struct nat_engine *engine, int64_t now_ms)
{
    struct nat_firewall *firewall = &engine->firewall;
    AUTOFAULTS struct faults faults = { 0 };

    const bool others = firewall->generation != engine->generation;
    if (!engine->synced || (is_asked(engine) && !others && now_ms < firewall->due_ms))
        return false;
    firewall->generation = engine->generation;
    firewall->due_ms = now_ms;
    const bool can_ask = is_open(firewall);
    if (is_asked(engine) && can_ask) {
        bool four = judge(engine, IP_V4, &firewall->misses[0], &faults);
        bool six = judge(engine, IP_V6, &firewall->misses[1], &faults);
        firewall->due_ms += four && six ? CALM_MS : 0;
    } else { /* nothing may drop packets */
        set_closed(engine, IP_V4, 0);
        set_closed(engine, IP_V6, 0);
    }
    nat_state_report(engine, "firewall", &faults);
    return firewall->moved;
}

/* Whether an address has a port that would be forwarded but for the firewall. */
static bool is_closed(const struct nat_row *row, const struct ip *address, unsigned closed)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        vec_each(const struct nat_frontend, frontend, &row->families[i].frontends) {
            if (closed & bit_of(frontend->protocol) && ip_equal(&frontend->address, address) &&
                frontend->from[NAT_ORIGIN_OUTSIDE].act == NAT_ACT_FORWARD)
                return true;
        }
    }
    return false;
}

void nat_firewall_refute(const struct nat_engine *engine, const struct nat_row *row,
                         nat_proof_list *list)
{
    const unsigned *closed = engine->firewall.closed;
    if (!(closed[0] | closed[1]) || !withdraws(engine))
        return;
    vec_each(struct nat_proof, proof, list) {
        if (!is_closed(row, &proof->address, closed[proof->address.family == IP_V6]))
            continue;
        proof->as_planned = proof->served = false;
        (void)snprintf(proof->why, sizeof(proof->why),
                       "netfilter on this node drops what Services forward");
    }
}
