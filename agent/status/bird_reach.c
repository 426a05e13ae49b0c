// SPDX-License-Identifier: Apache-2.0
/*
 * Implements bird_reach.h, from the sessions' state in the last poll of BIRD (peer_export_of()).
 * All documents of api/ and the health status use it, so that "announced" is the same in all of
 * them.
 */
#include "status/bird_reach.h"

enum { NAMED = 3 };

static bool is_meant(enum peer_export exported)
{
    return exported != PEER_NOT_MEANT && exported != PEER_ELSEWHERE;
}

static int family_of(const struct prefix *prefix)
{
    return prefix->ip.family == IP_V4 ? BGP_IPV4 : BGP_IPV6;
}

struct reach_of bird_reach(const struct bird_status *bird, const struct prefix *prefix,
                           bool installed)
{
    struct reach_of of = { .reach = REACH_ABSENT };
    bool unknown = false;
    if (!installed)
        return of;
    of.reach = bird->socket ? REACH_UNKNOWN : REACH_UNWATCHED;
    if (!bird->reachable)
        return of;
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        enum peer_export exported = peer_export_of(bird, peer, prefix);
        of.meant += is_meant(exported);
        of.sent += exported == PEER_EXPORTED;
        unknown |= exported == PEER_UNKNOWN;
    }
    if (of.sent > 0)
        of.reach = of.sent == of.meant ? REACH_ANNOUNCED : REACH_PARTLY;
    else
        of.reach = unknown ? REACH_UNKNOWN : REACH_NOBODY;
    return of;
}

const char *reach_name(enum reach reach)
{
    static const char *const names[] = {
        [REACH_ANNOUNCED] = "announced", [REACH_PARTLY] = "partly",       [REACH_NOBODY] = "nobody",
        [REACH_UNKNOWN] = "unknown",     [REACH_UNWATCHED] = "unwatched", [REACH_ABSENT] = "absent",
    };
    return names[reach];
}

/* Names the first few sessions that do not export it, each with its reason. */
static void name_sessions(const struct bird_status *bird, const struct prefix *prefix,
                          struct text *out)
{
    size_t count = 0;
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        enum peer_export exported = peer_export_of(bird, peer, prefix);
        if (!is_meant(exported) || exported == PEER_EXPORTED)
            continue;
        if (count++ < NAMED)
            text_addf(out, "%s %s: %s", count > 1 ? "," : ":", peer->name,
                      peer_export_text(exported));
    }
    if (count > NAMED)
        text_addf(out, " and %zu more", count - NAMED);
}

void bird_reach_why(const struct bird_status *bird, const struct prefix *prefix,
                    const struct reach_of *of, struct text *out)
{
    const char *family = family_of(prefix) == BGP_IPV4 ? "IPv4" : "IPv6";
    switch (of->reach) {
    case REACH_NOBODY:
        text_add(out, "no peer gets it");
        if (bird->peers.count == 0)
            text_add(out, ": BIRD has no BGP session");
        else if (of->meant == 0)
            text_addf(out, ": no session exports %s routes of this table", family);
        else
            name_sessions(bird, prefix, out);
        return;
    case REACH_PARTLY:
        text_add(out, "not all peers get it");
        name_sessions(bird, prefix, out);
        return;
    case REACH_UNKNOWN:
        text_add(out, "whether a peer gets it is not known: ");
        if (bird->reachable)
            text_add(out, "BIRD has not learned all routes yet");
        else
            text_add(out, *bird->error ? bird->error : "BIRD has not answered yet");
        return;
    case REACH_UNWATCHED:
        text_add(out, "BIRD is not asked (bird.socket)");
        return;
    case REACH_ABSENT:
        text_add(out, "no route stands in the table");
        return;
    default:
        return;
    }
}

bool bird_is_unheard(const struct bird_status *bird)
{
    if (!bird->socket || !bird->reachable || bird_expects_none(bird))
        return false;
    for (int family = 0; family < BGP_FAMILIES; family++) {
        bool heard = bird->expected[family] == 0;
        vec_each(const struct bgp_peer, peer, &bird->peers)
            heard |= peer->established && peer->exports[family];
        if (!heard)
            return true;
    }
    return false;
}
