// SPDX-License-Identifier: Apache-2.0
/*
 * Sends and receives announcements and probes of claimed addresses on their segments; called by
 * claims.c.
 */
#include <string.h>

#include "base/clock.h"
#include "segment/claims_inside.h"

void claims_listen(struct claims *claims)
{
    AUTOVEC wire_list ifindexes = { 0 };
    vec_each(struct own_claim *const, claim, &claims->list) {
        vec_each(const struct claim_address, address, &(*claim)->addresses) {
            if (address->ifindex)
                (void)vec_push(&ifindexes, address->ifindex); /* else: at the next pass */
        }
    }
    wires_set(claims->wires, &ifindexes);
}

/* The right is checked before each packet: the agent may have been stopped since the last one. */
static void speak(struct own_claim *claim, struct claim_address *address, enum announcing_step step,
                  int64_t now_ms)
{
    struct claims *claims = claim->claims;
    struct claim_counts *counts = claims->options.counts;
    if (step == ANNOUNCING_PROBE || step == ANNOUNCING_SEARCH) {
        counts->probes++;
        (void)wires_send(claims->wires, address->ifindex,
                         step == ANNOUNCING_SEARCH ? SEGMENT_SEARCH : SEGMENT_PROBE, &address->ip,
                         address->mac);
        return;
    }
    if (!address->installed || now_ms >= lease_until_ms(&claim->lease))
        return;
    counts->announcements++;
    (void)wires_send(claims->wires, address->ifindex, SEGMENT_ANNOUNCE, &address->ip, address->mac);
    (void)wires_send(claims->wires, address->ifindex, SEGMENT_REPLY, &address->ip, address->mac);
    if (step == ANNOUNCING_TELL)
        claim_tell_neighbours(claims, address, now_ms);
}

void claim_speak(struct own_claim *claim, int64_t now_ms)
{
    vec_each(struct claim_address, address, &claim->addresses) {
        enum announcing_state before = address->announcing.state;
        enum announcing_step step = announcing_next(&address->announcing, now_ms);
        if (step != ANNOUNCING_NOTHING)
            speak(claim, address, step, now_ms);
        if (before != address->announcing.state)
            deferred_schedule(claim->claims->turn);
    }
}

static void hear(struct own_claim *claim, struct claim_address *address,
                 const struct segment_claim *heard)
{
    int64_t now_ms = clock_boot_ms(), due_ms = address->announcing.next_ms;
    if (heard->is_search && address->announcing.state != ANNOUNCING_HELD)
        return;
    if (!heard->is_probe)
        claim_probe_heard(claim, now_ms);
    bool is_conflict = announcing_heard(&address->announcing, heard->mac, heard->is_probe, now_ms);
    if (address->announcing.next_ms != due_ms)
        deferred_schedule(claim->claims->turn);
    if (!is_conflict)
        return;
    claim->claims->options.counts->conflicts++;
    /* This brings no record: it makes the lease read the store. */
    if (address->announcing.state == ANNOUNCING_DOUBTED)
        lease_heard(&claim->lease, NULL, "", now_ms);
    deferred_schedule(claim->claims->turn);
}

void claims_on_heard(void *context, uint32_t ifindex, const struct segment_claim *heard)
{
    struct claims *claims = context;
    vec_each(struct own_claim *const, claim, &claims->list) {
        vec_each(struct claim_address, address, &(*claim)->addresses) {
            if (address->ifindex == ifindex && ip_equal(&address->ip, &heard->ip) &&
                memcmp(address->mac, heard->mac, sizeof(address->mac)) != 0)
                hear(*claim, address, heard);
        }
    }
}
