// SPDX-License-Identifier: Apache-2.0
/* BIRD's state as faults. Pure; bgp.c decides when a difference has lasted long enough. */
#include "bgp/bgp_faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "faults/bgp.h"
#include "faults/raise.h"
#include "plan/routes/route_table.h"

enum { NAMED = 5 };

void bgp_silence_faults(const struct bird_status *bird, struct faults *faults)
{
    const char *error = *bird->error ? bird->error : "BIRD does not answer";
    if (strstr(bird->error, strerror(EACCES)))
        fault_raise(faults, bird->socket, bird_socket_denied, .error = error);
    else
        fault_raise(faults, bird->socket, bird_silent, .error = error);
}

void bgp_socket_faults(const struct bird_status *bird, struct faults *faults)
{
    fault_raise(faults, bird->socket, bird_socket_gone);
}

bool bgp_version_faults(const struct bird_status *bird, struct faults *faults)
{
    char *rest;
    const unsigned long major = strtoul(bird->version, &rest, 10);
    if (rest == bird->version || major >= 2)
        return false;
    fault_raise(faults, bird->socket, bird_too_old, .version = bird->version);
    return true;
}

/* Some session, up or down, is configured to export the routes of a family. */
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
    /* Without any session, a detector reports that. */
    if (bird_expects_none(bird) || bird->peers.count == 0)
        return;
    for (int family = 0; family < BGP_FAMILIES; family++) {
        /* A family that is not learned has another fault. */
        if (bird->expected[family] == 0 || bird->learned[family] == 0 || is_exported(bird, family))
            continue;
        fault_raise(faults, names[family], bgp_family_not_exported, .family = names[family],
                    .table = table);
    }
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

/* The networks that count; the first few by name. */
static size_t name_networks(const struct bgp_peer *peer, const struct sorted *installed,
                            uint32_t table, struct text *names)
{
    size_t count = 0;
    vec_each(const struct prefix, network, &peer->networks) {
        char buffer[PREFIX_STRLEN];
        if (!is_installed(installed, table, network))
            continue;
        if (count++ < NAMED)
            text_addf(names, "%s%s", names->length ? ", " : "", prefix_str(network, buffer));
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
    fault_raise(faults, peer->name, bgp_routes_filtered, .count = (int64_t)count, .table = table,
                .session = peer->name, .routes = text_str(&names));
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
    char ip[IP_STRLEN];
    if (peer->limited)
        fault_raise(faults, peer->name, bgp_export_limited, .table = table, .session = peer->name);
    if (peer->strange_next_hop.family != IP_NONE)
        fault_raise(faults, peer->name, bgp_next_hop_strange,
                    .next_hop = ip_str(&peer->strange_next_hop, ip), .session = peer->name);
    if (hidden > 0)
        fault_raise(faults, peer->name, bgp_routes_hidden, .count = hidden, .table = table);
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

static void learned_none_fault(const struct bird_status *bird, int family, const char *name,
                               uint32_t table, struct faults *faults)
{
    const char *kernel = bird->kernel_down[family], *refuses = bird->kernel_refuses[family];
    if (*refuses)
        fault_raise(faults, name, bird_imports_none, .family = name, .table = table,
                    .protocol = refuses);
    else if (*kernel)
        fault_raise(faults, name, bird_kernel_disabled, .family = name, .table = table,
                    .protocol = kernel);
    else
        fault_raise(faults, name, bird_learned_none, .family = name, .table = table);
}

/* Of a family of which BIRD has fewer routes, or more, than the kernel. */
static void learned_fault(const struct bird_status *bird, int family, const char *name,
                          uint32_t table, struct faults *faults)
{
    if (bird->learned[family] > bird->expected[family])
        fault_raise(faults, name, bird_routes_stale, .family = name, .table = table);
    else if (*bird->kernel_limited[family])
        fault_raise(faults, name, bird_import_limited, .family = name, .table = table,
                    .protocol = bird->kernel_limited[family]);
    else if (bird->learned[family] == 0)
        learned_none_fault(bird, family, name, table, faults);
    else
        fault_raise(faults, name, bird_learned_part, .family = name, .table = table);
}

void bgp_learned_faults(const struct bird_status *bird, const bool differs[BGP_FAMILIES],
                        uint32_t table, struct faults *faults)
{
    static const char *const names[] = { [BGP_IPV4] = "IPv4", [BGP_IPV6] = "IPv6" };
    for (int family = 0; family < BGP_FAMILIES; family++)
        if (differs[family])
            learned_fault(bird, family, names[family], table, faults);
}

void bgp_overflow_faults(struct faults *faults)
{
    fault_raise(faults, "BIRD", bird_notifications_lost);
}
