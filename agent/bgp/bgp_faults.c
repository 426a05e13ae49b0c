// SPDX-License-Identifier: Apache-2.0
/*
 * BIRD's state as faults. Pure; bgp.c decides when a difference has lasted long enough.
 *
 * A fault is the same fault as long as its words are, so what changes from poll to poll (BGP's
 * state while it tries, counts) is not among the words; it is in the documents.
 */
#include "bgp/bgp_faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "bgp/bgp_errors.h"
#include "plan/link_table.h"
#include "plan/route_table.h"

enum { NAMED = 5 };

#define CONNECT_MS (10 * SECOND_MS)

void bgp_silence_faults(const struct bird_status *bird, struct faults *faults)
{
    faults_add(
        faults, bird->socket,
        strstr(bird->error, strerror(EACCES))
            ? "let agentd's user into the group of the socket (usermod -aG bird fingerpost), "
              "and restart agentd"
            : "start BIRD (systemctl status bird), or name its control socket in bird.socket; "
              "without bird.socket it is not asked",
        "what is announced is not known: %s", *bird->error ? bird->error : "BIRD does not answer");
}

void bgp_socket_faults(const struct bird_status *bird, struct faults *faults)
{
    faults_add(faults, bird->socket,
               "restart BIRD (systemctl restart bird): it makes its socket anew",
               "there is no socket any more: BIRD answers on the connection that agentd has, and "
               "takes no other");
}

bool bgp_version_faults(const struct bird_status *bird, struct faults *faults)
{
    char *rest;
    const unsigned long major = strtoul(bird->version, &rest, 10);
    if (rest == bird->version || major >= 2)
        return false;
    faults_add(faults, bird->socket,
               "use BIRD 2.0.8 or later (apt install bird2), or name its socket in bird.socket",
               "BIRD %s is too old: it has no tables for both families, and what it announces is "
               "not known",
               bird->version);
    return true;
}

/* Some session is meant to take the routes of a family, be it up or down. */
static bool is_exported(const struct bird_status *bird, int family)
{
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        bool elsewhere = peer->established && peer->exported == 0 && peer->filtered == 0;
        if (peer->exports[family] && !elsewhere)
            return true;
    }
    return false;
}

void bgp_export_faults(const struct bird_status *bird, uint32_t table, struct faults *faults)
{
    static const char *const names[] = { [BGP_IPV4] = "IPv4", [BGP_IPV6] = "IPv6" };
    if (bird_expects_none(bird))
        return;
    if (bird->peers.count == 0) {
        faults_add(faults, "BIRD",
                   "give BIRD a BGP protocol with `table fingerpost4; export filter "
                   "fingerpost_export;` (fingerpost6 for IPv6); see birdconf/",
                   "BIRD has no BGP session: nothing is announced");
        return;
    }
    for (int family = 0; family < BGP_FAMILIES; family++) {
        /* What is not learned has a fault of its own. */
        if (bird->expected[family] == 0 || bird->learned[family] == 0 || is_exported(bird, family))
            continue;
        faults_add(
            faults, names[family],
            "give a session `table fingerpost4; export filter fingerpost_export;` in its channel of "
            "this family (IPv6: fingerpost6); see: birdc show protocols all",
            "no session exports %s: the routes of table %u are announced to nobody", names[family],
            table);
    }
}

static void link_fault(const struct bgp_peer *peer, const char *place, struct faults *faults)
{
    const char *link = peer->down_link;
    AUTOFREE char *up = text_format("ip link set %s up", link);
    AUTOFREE char *plug = text_format(LINK_PLUG_REMEDY, link);
    AUTOFREE char *name = text_format("correct `interface` of %s in BIRD's configuration, or see "
                                      "why it is not there: ip -br link",
                                      peer->name);
    switch (peer->down_how) {
    case BGP_LINK_DOWN:
        faults_add(faults, place, up,
                   "the session with AS %u is down with its interface: %s is down", peer->asn,
                   link);
        break;
    case BGP_LINK_UNPLUGGED:
        faults_add(faults, place, plug,
                   "the session with AS %u is down with its interface: %s has no carrier",
                   peer->asn, link);
        break;
    case BGP_LINK_MISSING:
        faults_add(
            faults, place, name,
            "the session with AS %u is down: no interface is called %s, which it is bound to",
            peer->asn, link);
        break;
    }
}

static void session_fault(const struct bgp_peer *peer, struct faults *faults)
{
    AUTOFREE char *place = text_format("%s %s", peer->name, peer->address);
    if (!place) {
        faults->incomplete = true;
    } else if (peer->disabled) {
        AUTOFREE char *remedy = text_format("birdc enable %s, or remove it from BIRD's "
                                            "configuration",
                                            peer->name);
        faults_add(faults, place, remedy, "the session is disabled in BIRD");
    } else if (*peer->down_link) {
        link_fault(peer, place, faults);
    } else {
        AUTOTEXT struct text reason = { 0 }, remedy = { 0 };
        bgp_error_explain(peer, &reason, &remedy);
        faults_add(faults, place, text_str(&remedy), "the session with AS %u is down: %s",
                   peer->asn, text_str(&reason));
        faults->incomplete |= text_error(&reason) < 0 || text_error(&remedy) < 0;
    }
}

/* Connecting, with nothing that has failed yet: as after a restart of BIRD. */
static bool may_come_up(const struct bgp_peer *peer, int64_t wall_ms)
{
    int64_t age_ms = wall_ms - peer->since_wall_ms;
    return !peer->disabled && !*peer->last_error && age_ms >= 0 && age_ms < CONNECT_MS;
}

static bool has_session(const struct bird_status *bird, const char *name)
{
    vec_each(const struct bgp_peer, peer, &bird->peers)
        if (strcmp(peer->name, name) == 0)
            return true;
    return false;
}

/* Without it BIRD knows no interface, and ends each session with "Neighbor lost". */
static void device_fault(const struct bird_status *bird, struct faults *faults)
{
    AUTOFREE char *enable = text_format("birdc enable %s", bird->device_down);
    if (*bird->device_down)
        faults_add(faults, bird->device_down, enable,
                   "BIRD's device protocol is disabled: it knows no interface, and no session that "
                   "needs one comes up");
}

static bool follows_from_device(const struct bird_status *bird, const struct bgp_peer *peer)
{
    return *bird->device_down && strstr(peer->last_error, "Neighbor lost");
}

static void missing_sessions(const struct bird_status *bird, struct faults *faults)
{
    const struct peer_expectation *expect = &bird->expect;
    for (size_t i = 0; i < expect->name_count; i++)
        if (!has_session(bird, expect->names[i]))
            faults_add(faults, expect->names[i],
                       "give BIRD a protocol of this name, or correct bird.expectPeers",
                       "BIRD has no BGP session of this name, which bird.expectPeers expects");
    if (bird->peers.count > 0 && bird->peers.count < expect->count)
        faults_add(faults, "BIRD",
                   "give BIRD the sessions that it lacks, or correct bird.expectPeers",
                   "BIRD has %zu of %u BGP sessions that bird.expectPeers expects",
                   bird->peers.count, expect->count);
}

bool bgp_session_faults(const struct bird_status *bird, int64_t wall_ms, struct faults *faults)
{
    bool undecided = false;
    missing_sessions(bird, faults);
    device_fault(bird, faults);
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        if (peer->established || !bird_expects(bird, peer) || follows_from_device(bird, peer))
            continue;
        if (may_come_up(peer, wall_ms))
            undecided = true;
        else
            session_fault(peer, faults);
    }
    return undecided;
}

/* True if a route of ours to that network is in the table that BIRD reads. */
static bool is_installed(const struct sorted *installed, uint32_t table,
                         const struct prefix *prefix)
{
    const struct route key = { .table = table, .prefix = *prefix };
    for (size_t i = sorted_lower_bound(installed, &key); i < installed->count; i++) {
        const struct route *route = sorted_at(installed, i);
        if (route->table != table || prefix_cmp(&route->prefix, prefix) != 0)
            return false;
        if (route_is_ours(route, table))
            return true;
    }
    return false;
}

/* The networks that count, the first few by name. */
static size_t name_networks(const struct bgp_peer *peer, const struct sorted *installed,
                            uint32_t table, struct text *names)
{
    size_t count = 0;
    vec_each(const struct prefix, network, &peer->networks) {
        char buffer[PREFIX_STRLEN];
        if (!is_installed(installed, table, network))
            continue;
        if (count++ < NAMED)
            text_addf(names, "%s%s", names->length ? ", " : ": ", prefix_str(network, buffer));
    }
    if (count > NAMED)
        text_addf(names, " and %zu more", count - NAMED);
    return count;
}

static void filter_fault(const struct bgp_peer *peer, const struct sorted *installed,
                         uint32_t table, struct faults *faults)
{
    AUTOTEXT struct text names = { 0 };
    size_t count = name_networks(peer, installed, table, &names);
    if (!peer->listed && peer->filtered > 0)
        count = (size_t)peer->filtered;
    if (count == 0)
        return;
    AUTOFREE char *remedy = text_format("look at the export filter of %s in BIRD's configuration; "
                                        "see: birdc show route noexport %s",
                                        peer->name, peer->name);
    faults_add(faults, peer->name, remedy,
               "%zu route%s of table %u %s filtered, this peer does "
               "not get %s%s",
               count, count == 1 ? "" : "s", table, count == 1 ? "is" : "are",
               count == 1 ? "it" : "them", text_str(&names));
    faults->incomplete |= text_error(&names) < 0;
}

void bgp_filter_faults(const struct bird_status *bird, const struct sorted *installed,
                       uint32_t table, struct faults *faults)
{
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        bool named = bird->expect.name_count == 0 || bird_expects(bird, peer);
        if (named && !bird_expects_none(bird))
            filter_fault(peer, installed, table, faults);
    }
}

static void kept_fault(const struct bgp_peer *peer, int64_t hidden, uint32_t table,
                       struct faults *faults)
{
    AUTOFREE char *limit = text_format("raise `export limit` of %s in BIRD's configuration; see: "
                                       "birdc show protocols all %s",
                                       peer->name, peer->name);
    AUTOFREE char *hop =
        text_format("write `next hop self` in place of `next hop address` or `next hop "
                    "keep` of %s in BIRD's configuration; birdc configure; birdc "
                    "restart %s",
                    peer->name, peer->name);
    char ip[IP_STRLEN];
    if (peer->limited)
        faults_add(faults, peer->name, limit,
                   "its export limit is reached: this peer does not get all routes of table %u",
                   table);
    if (peer->strange_next_hop.family != IP_NONE)
        faults_add(faults, peer->name, hop,
                   "it gives this peer routes that lead to %s, which no interface of this node has",
                   ip_str(&peer->strange_next_hop, ip));
    if (hidden > 0)
        faults_add(faults, peer->name,
                   "take those out of BIRD's table, or lower their preference; see: birdc show "
                   "route all table fingerpost4 (IPv6: fingerpost6)",
                   "this peer does not get %lld route%s of table %u: BIRD has better routes to the "
                   "same networks",
                   (long long)hidden, hidden == 1 ? "" : "s", table);
}

void bgp_kept_faults(const struct bird_status *bird, bool hidden, uint32_t table,
                     struct faults *faults)
{
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        bool named = bird->expect.name_count == 0 || bird_expects(bird, peer);
        if (named && !bird_expects_none(bird))
            kept_fault(peer, hidden ? bird_hidden(bird, peer) : 0, table, faults);
    }
}

/* A route that went away makes room for another one with the next scan only. */
static void limit_fault(const struct bird_status *bird, int family, const char *name,
                        uint32_t table, struct faults *faults)
{
    const char *kernel = bird->kernel_limited[family];
    AUTOFREE char *remedy = text_format("raise `import limit` and `receive limit` of %s in BIRD's "
                                        "configuration, or take them out; birdc configure; birdc "
                                        "restart %s",
                                        kernel, kernel);
    faults_add(faults, name, remedy,
               "BIRD has not learned all %s routes of table %u: its kernel protocol %s has reached "
               "its import limit",
               name, table, kernel);
}

static void learned_none_fault(const struct bird_status *bird, int family, const char *name,
                               uint32_t table, struct faults *faults)
{
    const char *kernel = bird->kernel_down[family], *refuses = bird->kernel_refuses[family];
    AUTOFREE char *enable = text_format("birdc enable %s", kernel);
    AUTOFREE char *import = text_format("give %s `import all` in BIRD's configuration, then: birdc "
                                        "configure",
                                        refuses);
    if (*refuses)
        faults_add(faults, name, import,
                   "BIRD has learned no %s route of table %u: its kernel protocol %s takes none "
                   "(import none)",
                   name, table, refuses);
    else if (*kernel)
        faults_add(faults, name, enable,
                   "BIRD has learned no %s route of table %u: its kernel protocol %s is disabled "
                   "in BIRD",
                   name, table, kernel);
    else
        faults_add(faults, name,
                   "BIRD needs a kernel protocol with this table, this family and `learn`; "
                   "see birdconf/",
                   "BIRD has learned no %s route of table %u", name, table);
}

void bgp_learned_faults(const struct bird_status *bird, const bool differs[BGP_FAMILIES],
                        uint32_t table, struct faults *faults)
{
    static const char *const names[] = { [BGP_IPV4] = "IPv4", [BGP_IPV6] = "IPv6" };
    for (int family = 0; family < BGP_FAMILIES; family++) {
        if (!differs[family])
            continue;
        if (bird->learned[family] > bird->expected[family])
            faults_add(faults, names[family],
                       "make BIRD scan the table again: birdc reload, with the name of its kernel "
                       "protocol",
                       "BIRD still has %s routes that are gone from table %u", names[family],
                       table);
        else if (*bird->kernel_limited[family])
            limit_fault(bird, family, names[family], table, faults);
        else if (bird->learned[family] == 0)
            learned_none_fault(bird, family, names[family], table, faults);
        else
            faults_add(
                faults, names[family],
                "give BIRD's kernel protocols `import all` and `netlink rx buffer 67108864;`; to scan the "
                "table again: birdc reload, with the name of the kernel protocol",
                "BIRD has not learned all %s routes of table %u", names[family], table);
    }
}

void bgp_overflow_faults(struct faults *faults)
{
    faults_add(faults, "BIRD", "set `netlink rx buffer 67108864;` in BIRD's kernel protocols",
               "BIRD lost notifications of the kernel: until its next scan it may lack routes");
}
