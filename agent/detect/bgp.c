// SPDX-License-Identifier: Apache-2.0
/*
 * Faults of BGP sessions, by BIRD's status.
 *
 * A session that is down is held by the age of its state that BIRD reports, which survives a
 * restart of the agent, and not by `hold_ms` of the row.
 */
#include "detect/bgp.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "detect/session_error.h"
#include "faults/bgp.h"
#include "faults/raise.h"

#define CONNECT_MS (10 * SECOND_MS)

static void link_fault(const struct bgp_peer *peer, const char *place, struct faults *faults)
{
    const char *link = peer->down_link;
    switch (peer->down_how) {
    case BGP_LINK_DOWN:
        fault_raise(faults, place, bgp_interface_down, .asn = peer->asn, .interface = link);
        break;
    case BGP_LINK_UNPLUGGED:
        fault_raise(faults, place, bgp_interface_unplugged, .asn = peer->asn, .interface = link);
        break;
    case BGP_LINK_MISSING:
        fault_raise(faults, place, bgp_interface_missing, .asn = peer->asn, .interface = link,
                    .session = peer->name);
        break;
    }
}

static void down_fault(const struct bgp_peer *peer, const char *place, struct faults *faults)
{
    AUTOTEXT struct text reason = { 0 }, remedy = { 0 };
    session_error_explain(peer, &reason, &remedy);
    fault_raise(faults, place, bgp_session_down, .asn = peer->asn, .reason = text_str(&reason),
                .session = peer->name, .remedy = text_str(&remedy));
    faults->incomplete |= text_error(&reason) < 0 || text_error(&remedy) < 0;
}

static void session_fault(const struct bgp_peer *peer, struct faults *faults)
{
    AUTOFREE char *place = text_format("%s %s", peer->name, peer->address);
    if (!place)
        faults->incomplete = true;
    else if (peer->disabled)
        fault_raise(faults, place, bgp_session_disabled, .session = peer->name);
    else if (*peer->down_link)
        link_fault(peer, place, faults);
    else
        down_fault(peer, place, faults);
}

/* Connecting, without a failure so far: as after a restart of BIRD. */
static bool may_come_up(const struct bgp_peer *peer, int64_t wall_ms)
{
    int64_t age_ms = wall_ms - peer->since_wall_ms;
    return !peer->disabled && !*peer->last_error && peer->since_wall_ms > 0 && age_ms >= 0 &&
           age_ms < CONNECT_MS;
}

static bool has_session(const struct bird_status *bird, const char *name)
{
    vec_each(const struct bgp_peer, peer, &bird->peers)
        if (strcmp(peer->name, name) == 0)
            return true;
    return false;
}

/*
 * Without its device protocol BIRD sees no interface, and closes each session with "Neighbor lost".
 */
static void device_fault(const struct bird_status *bird, struct faults *faults)
{
    if (*bird->device_down)
        fault_raise(faults, bird->device_down, bird_device_disabled, .protocol = bird->device_down);
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
            fault_raise(faults, expect->names[i], bgp_session_missing);
    if (bird->peers.count > 0 && bird->peers.count < expect->count)
        fault_raise(faults, "BIRD", bgp_sessions_few, .have = (int64_t)bird->peers.count,
                    .expected = expect->count);
}

static bool is_judged(const struct bird_status *bird, const struct bgp_peer *peer)
{
    return !peer->established && bird_expects(bird, peer) && !follows_from_device(bird, peer);
}

bool bgp_sessions_may_come_up(const struct detector_facts *facts)
{
    vec_each(const struct bgp_peer, peer, &facts->bird->peers) {
        if (is_judged(facts->bird, peer) && may_come_up(peer, facts->wall_ms))
            return true;
    }
    return false;
}

static void detect_sessions(const struct detector_facts *facts, struct faults *faults)
{
    const struct bird_status *bird = facts->bird;
    missing_sessions(bird, faults);
    device_fault(bird, faults);
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        if (is_judged(bird, peer) && !may_come_up(peer, facts->wall_ms))
            session_fault(peer, faults);
    }
}

static void detect_none(const struct detector_facts *facts, struct faults *faults)
{
    if (!bird_expects_none(facts->bird) && facts->bird->peers.count == 0)
        fault_raise(faults, "BIRD", bgp_no_session);
}

const struct detector bgp_detectors[] = {
    {
        .name = "bgp-sessions",
        .subsystem = "bgp",
        .group = "sessions",
        .codes =
            DETECTOR_CODES(&fault_type_bgp_session_missing, &fault_type_bgp_sessions_few,
                           &fault_type_bird_device_disabled, &fault_type_bgp_session_disabled,
                           &fault_type_bgp_session_down, &fault_type_bgp_interface_down,
                           &fault_type_bgp_interface_unplugged, &fault_type_bgp_interface_missing),
        .facts = FACT_BIRD,
        .detect = detect_sessions,
    },
    {
        .name = "bgp-none",
        .subsystem = "bgp",
        .group = "exports",
        .codes = DETECTOR_CODES(&fault_type_bgp_no_session),
        .facts = FACT_BIRD,
        .detect = detect_none,
    },
    { .name = NULL },
};
