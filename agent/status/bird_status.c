// SPDX-License-Identifier: Apache-2.0
/*
 * Queries of BIRD's state that several documents share.
 *
 * That a route is exported is inferred, not observed: the agent reads the number of exported routes
 * from BIRD, and the list of filtered ones, which is short. The inference requires that BIRD has
 * learned every route of the family; while the counts differ, the result is unknown.
 */
#include "status/bird_status.h"

#include <string.h>

#include "base/macro.h"

int64_t bird_hidden(const struct bird_status *bird, const struct bgp_peer *peer)
{
    int64_t learned = 0;
    if (!peer->established || peer->exported <= 0 || peer->filtered < 0)
        return 0;
    for (int family = 0; family < BGP_FAMILIES; family++) {
        if (!peer->exports[family])
            continue;
        if (bird->learned[family] != bird->expected[family])
            return 0;
        learned += bird->learned[family];
    }
    return MAX(learned - peer->exported - peer->filtered, 0);
}

enum peer_export peer_export_of(const struct bird_status *bird, const struct bgp_peer *peer,
                                const struct prefix *prefix)
{
    int family = prefix->ip.family == IP_V4 ? BGP_IPV4 : BGP_IPV6;
    if (!peer->exports[family])
        return PEER_NOT_MEANT;
    if (!peer->established)
        return PEER_DOWN;
    if (bird->learned[family] == 0 && bird->expected[family] > 0)
        return PEER_UNLEARNED;
    if (peer->exported == 0 && peer->filtered == 0 && bird->expected[family] > 0)
        return PEER_ELSEWHERE;
    if (vec_find(&peer->networks, prefix, prefix_item_cmp))
        return PEER_FILTERED;
    if (peer->limited || bird_hidden(bird, peer) > 0)
        return PEER_UNKNOWN; /* the filtered networks are not listed */
    if (!peer->listed || bird->learned[family] != bird->expected[family])
        return PEER_UNKNOWN;
    return PEER_EXPORTED;
}

const char *peer_export_name(enum peer_export exported)
{
    static const char *const names[] = {
        [PEER_EXPORTED] = "exported",     [PEER_DOWN] = "session-down",
        [PEER_NOT_MEANT] = "not-meant",   [PEER_FILTERED] = "filtered",
        [PEER_ELSEWHERE] = "other-table", [PEER_UNLEARNED] = "not-learned",
        [PEER_UNKNOWN] = "unknown",
    };
    return names[exported];
}

const char *peer_export_text(enum peer_export exported)
{
    static const char *const texts[] = {
        [PEER_EXPORTED] = "exported",
        [PEER_DOWN] = "the session is down",
        [PEER_NOT_MEANT] = "BIRD exports nothing of this family to this peer",
        [PEER_FILTERED] = "BIRD's filters keep it back",
        [PEER_ELSEWHERE] = "its table in BIRD has none of our routes",
        [PEER_UNLEARNED] = "BIRD has learned no route of this family",
        [PEER_UNKNOWN] = "not known: BIRD has not said, or sends only some of the routes",
    };
    return texts[exported];
}

bool bird_expects_none(const struct bird_status *bird)
{
    return bird->expect.set && bird->expect.count == 0 && bird->expect.name_count == 0;
}

/* With an expected number of sessions, none is expected by name while enough are up. */
bool bird_expects(const struct bird_status *bird, const struct bgp_peer *peer)
{
    const struct peer_expectation *expect = &bird->expect;
    if (!expect->set)
        return true;
    for (size_t i = 0; i < expect->name_count; i++)
        if (strcmp(expect->names[i], peer->name) == 0)
            return true;
    return expect->name_count == 0 && bird_established(bird) < expect->count;
}

size_t bird_established(const struct bird_status *bird)
{
    size_t count = 0;
    vec_each(const struct bgp_peer, peer, &bird->peers)
        count += peer->established;
    return count;
}

int64_t bird_announced(const struct bird_status *bird)
{
    int64_t sum = 0;
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        if (peer->announced > 0 && __builtin_add_overflow(sum, peer->announced, &sum))
            return INT64_MAX;
    }
    return sum;
}

void bird_status_clear(struct bird_status *bird)
{
    vec_each(struct bgp_peer, peer, &bird->peers)
        vec_done(&peer->networks);
    vec_done(&bird->peers);
    *bird = (struct bird_status){ .socket = bird->socket,
                                  .expect = bird->expect,
                                  .learned = { -1, -1 } };
}
