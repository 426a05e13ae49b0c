// SPDX-License-Identifier: Apache-2.0
/*
 * Probes on the segments for the holders of addresses while the store is not reachable
 * (plan/claims/address_probe.h). Called by claims.c, and by claim_wire.c when another host
 * announces an address.
 */
#include "base/clock.h"
#include "segment/claims_inside.h"

static bool is_cut_off(const struct own_claim *claim)
{
    return claim->wanted && claim->cut_off && claim->failures && !claim->has_right;
}

/* An address of the claim on an interface of this node; NULL: there is none. */
static const struct claim_address *address_to_ask_for(const struct own_claim *claim)
{
    vec_each(const struct claim_address, address, &claim->addresses) {
        if (address->ifindex)
            return address;
    }
    return NULL;
}

/* An address of the claim after the last one that was probed, round robin. */
static const struct claim_address *next_address(struct claims *claims)
{
    const size_t count = claims->list.count;
    for (size_t i = 1; i <= count; i++) {
        const size_t place = (claims->scouted + i) % count;
        const struct own_claim *claim = claims->list.items[place];
        const struct claim_address *address = is_cut_off(claim) ? address_to_ask_for(claim) : NULL;
        if (!address)
            continue;
        claims->scouted = place;
        return address;
    }
    return NULL;
}

void claims_probe(struct claims *claims, int64_t now_ms)
{
    if (now_ms < address_probe_due_ms(&claims->address_probe) && claims->address_probe.begun)
        return;
    const struct claim_address *address = next_address(claims);
    if (!address_probe_next(&claims->address_probe, address != NULL, now_ms))
        return;
    claims->options.counts->probes++;
    (void)wires_send(claims->wires, address->ifindex, SEGMENT_SEARCH, &address->ip, address->mac);
}

void claim_probe_heard(struct own_claim *claim, int64_t now_ms)
{
    struct claims *claims = claim->claims;
    if (!is_cut_off(claim) || !address_probe_heard(&claims->address_probe))
        return;
    vec_each(struct own_claim *const, other, &claims->list) {
        if (!is_cut_off(*other))
            continue;
        vec_each(struct claim_address, address, &(*other)->addresses)
            announcing_seek(&address->announcing, now_ms);
    }
    deferred_schedule(claims->turn);
}
