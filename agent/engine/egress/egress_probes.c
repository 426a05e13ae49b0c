// SPDX-License-Identifier: Apache-2.0
/*
 * Conclusions from probes of gateways; see egress_probes.h. A cookie is a secret of the gateway's
 * entry with the request's number in its last bits, so that only a host that sees the requests can
 * answer for a gateway.
 */
#include "engine/egress/egress_probes.h"

#include "base/clock.h"
#include "base/macro.h"

enum {
    RECENT = 8,                                  /* requests whose answers still count */
    STALE_MS = (EGRESS_STALE_S + 1) * SECOND_MS, /* since the last client that it learned of */
};

/* The initial time of a gateway that is new in the list: a gateway that never reported that it
 * learns of clients knows none; a gateway that was stale for an earlier agent knows the clients
 * that were known to that agent. */
static int64_t known_at_first(enum probe_verdict verdict)
{
    switch (verdict) {
    case PROBE_UNKNOWN:
        return -1;
    case PROBE_STALE:
        return 0;
    default:
        return INT64_MAX;
    }
}

static int gateway_cmp(const void *a, const void *b)
{
    const struct probed_gateway *left = a, *right = b;
    return ip_cmp(&left->address, &right->address);
}

void probes_init(struct probes *probes)
{
    probes->gateways = (struct sorted)SORTED(struct probed_gateway, gateway_cmp);
}

void probes_done(struct probes *probes)
{
    sorted_done(&probes->gateways);
}

static struct probed_gateway *find(const struct probes *probes, const struct ip *address)
{
    const struct probed_gateway key = { .address = *address };
    return sorted_find(&probes->gateways, &key);
}

void probes_begin_list(struct probes *probes)
{
    sorted_each(struct probed_gateway, gateway, &probes->gateways)
        gateway->wanted = false;
}

int probes_add(struct probes *probes, const struct ip *address, enum probe_verdict verdict,
               uint64_t secret)
{
    struct probed_gateway *known = find(probes, address);
    const struct probed_gateway fresh = {
        .address = *address,
        .verdict = verdict,
        .secret = secret & ~(uint64_t)UINT16_MAX,
        .missed = verdict == PROBE_LOST ? PROBES_LOST : 0,
        .known_ms = known_at_first(verdict),
        .wanted = true,
    };
    if (!known)
        return sorted_put(&probes->gateways, &fresh);
    known->wanted = true;
    return 0;
}

void probes_end_list(struct probes *probes)
{
    for (size_t i = probes->gateways.count; i-- > 0;) {
        const struct probed_gateway *gateway = sorted_at(&probes->gateways, i);
        if (!gateway->wanted)
            sorted_remove(&probes->gateways, gateway);
    }
}

static bool judge(struct probed_gateway *gateway, enum probe_verdict verdict)
{
    bool moved = gateway->verdict != verdict;
    gateway->verdict = verdict;
    return moved;
}

uint64_t probes_ask(struct probed_gateway *gateway, bool *moved)
{
    if (gateway->verdict != PROBE_UNKNOWN && gateway->missed >= PROBES_LOST)
        *moved |= judge(gateway, PROBE_LOST);
    else if (gateway->verdict != PROBE_UNKNOWN && gateway->verdict != PROBE_LOST &&
             gateway->missed >= PROBES_DOUBTED)
        *moved |= judge(gateway, PROBE_DOUBTED);
    gateway->missed++;
    if (gateway->missed > 1)
        gateway->answers = 0;
    gateway->asked++;
    return gateway->secret | gateway->asked;
}

static const enum probe_verdict said[EGRESS_PHASES] = {
    [EGRESS_SERVING] = PROBE_ALIVE,
    [EGRESS_LEAVING_SERVICE] = PROBE_LEAVING,
    [EGRESS_OUT_OF_SERVICE] = PROBE_GONE,
    [EGRESS_STALE_SERVICE] = PROBE_STALE,
};

static void note_known(struct probed_gateway *gateway, enum egress_phase phase, int64_t now_ms)
{
    if (phase == EGRESS_SERVING)
        gateway->known_ms = INT64_MAX;
    else if (phase == EGRESS_STALE_SERVICE)
        gateway->known_ms = MIN(gateway->known_ms, now_ms - STALE_MS);
}

bool probes_hear(struct probes *probes, const struct ip *address, uint64_t cookie,
                 enum egress_phase phase, int64_t now_ms)
{
    struct probed_gateway *gateway = find(probes, address);
    if (!gateway || (cookie & ~(uint64_t)UINT16_MAX) != gateway->secret ||
        (uint16_t)(gateway->asked - (uint16_t)cookie) >= RECENT)
        return false;
    bool suspect = gateway->verdict == PROBE_DOUBTED || gateway->verdict == PROBE_LOST;
    gateway->missed = 0;
    gateway->answers++;
    note_known(gateway, phase, now_ms);
    return suspect && gateway->answers < PROBES_BACK ? false : judge(gateway, said[phase]);
}

enum probe_verdict probes_verdict(const struct probes *probes, const struct ip *address)
{
    const struct probed_gateway *gateway = find(probes, address);
    return gateway ? gateway->verdict : PROBE_UNKNOWN;
}

int64_t probes_known_ms(const struct probes *probes)
{
    int64_t known_ms = INT64_MAX;
    sorted_each(const struct probed_gateway, gateway, &probes->gateways) {
        if (gateway->verdict == PROBE_STALE)
            known_ms = MIN(known_ms, gateway->known_ms);
    }
    return known_ms;
}
