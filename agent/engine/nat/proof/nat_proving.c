// SPDX-License-Identifier: Apache-2.0
/*
 * Makes the proofs of a round; see nat_proving.h.
 *
 * Proving thousands of rows takes longer than the event loop may be blocked. So a pass proves for a
 * few milliseconds, first what it has written itself, and leaves the rest to the next passes. These
 * follow each other at once; between two of them the loop handles whatever else is pending. A row
 * that waits to be proved keeps the proof that it had: a new address is not announced yet, an old
 * one stays announced. A proof that can no longer be right is taken back at once: that of an
 * address that a row lost, and every proof when a hook has lost its program.
 *
 * Until the source has synced, the maps may be newer than the rows, which come from the copy on
 * disk or from a part of the first lists (nat_updates.c leaves such Services alone). If such a row
 * differs from the maps, this says nothing about the address: its inherited proof stays. Otherwise
 * the first pass that may remove routes would withdraw the address until it is proved again.
 */
#include "engine/nat/proof/nat_proving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "plan/nat/nat_change.h"

enum { SLICE_US = 5000 };

static const char no_hook[] = "an interface does not carry the program";

void nat_proving_forget_row(struct nat_engine *engine, const struct nat_row *row)
{
    sorted_remove(&engine->unproved, &row);
    sorted_remove(&engine->to_prove, &row);
}

/* Removes what is in `others`; both are sorted. */
static void leave_out(ip_list *addresses, const ip_list *others)
{
    size_t kept = 0, at = 0;
    vec_each(const struct ip, ip, addresses) {
        while (at < others->count && ip_cmp(&others->items[at], ip) < 0)
            at++;
        if (at == others->count || !ip_equal(&others->items[at], ip))
            addresses->items[kept++] = *ip;
    }
    addresses->count = kept;
}

int nat_proving_drop_lost(const struct nat_row *before, const struct nat_row *after,
                          service_proof_list *changes)
{
    AUTOVEC ip_list lost = { 0 }, kept = { 0 };
    int r = nat_row_addresses(before, &lost);
    if (r < 0)
        return r;
    r = nat_row_addresses(after, &kept);
    if (r < 0)
        return r;
    leave_out(&lost, &kept);
    return nat_proofs_change(changes, before, &lost, NULL);
}

/* Whatever the maps contain: unless the program is at every hook, packets may go unserved. */
static void refute(nat_proof_list *list)
{
    vec_each(struct nat_proof, proof, list) {
        proof->as_planned = proof->served = false;
        (void)snprintf(proof->why, sizeof(proof->why), "%s", no_hook);
    }
}

static bool is_served(const nat_proof_list *list, const struct ip *address)
{
    vec_each(const struct nat_proof, proof, list) {
        if (ip_equal(&proof->address, address))
            return proof->served;
    }
    return false;
}

/* Omits what an unsynced row must not refute. */
static void leave_inherited(const struct nat_engine *engine, const nat_proof_list *list,
                            ip_list *addresses)
{
    size_t kept = 0;
    if (engine->status->source.synced)
        return;
    vec_each(const struct ip, ip, addresses) {
        if (is_served(list, ip) || !nat_proofs_is_inherited(&engine->proofs, ip))
            addresses->items[kept++] = *ip;
    }
    addresses->count = kept;
}

static int prove_row(struct nat_engine *engine, const struct nat_row *row,
                     service_proof_list *changes)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC nat_proof_list list = { 0 };
    AUTOVEC ip_list addresses = { 0 };
    const int64_t now_ms = clock_mono_ms();
    const bool begins = nat_paths_new(&engine->paths, now_ms);
    bool lost = false;
    if (nat_paths_spare(&engine->paths, row, now_ms))
        return sorted_put(&engine->unproved, &row);
    int r = nat_row_addresses(row, &addresses);
    if (r == 0)
        r = nat_prove(engine->datapath, &engine->node.origins, row, &list, &faults, &lost);
    if (r == 0 && !engine->node.attached)
        refute(&list);
    nat_firewall_refute(engine, row, &list);
    leave_inherited(engine, &list, &addresses);
    if (r == 0)
        r = nat_proofs_change(changes, row, &addresses, &list);
    if (!lost || !begins)
        nat_state_report_row(engine, "proof", row, &faults);
    if (r == 0 && !faults_none(&faults))
        return sorted_put(&engine->unproved, &row);
    sorted_remove(&engine->unproved, &row);
    return r;
}

/* Proves what this pass has written; what does not fit in the time waits for the next slices. */
static int prove_turns(struct nat_engine *engine, int64_t end_us, service_proof_list *changes)
{
    vec_each(const struct nat_update, turn, &engine->turns) {
        const struct nat_row *row = turn->after;
        if (!row)
            continue;
        int r = clock_mono_us() < end_us ? prove_row(engine, row, changes)
                                         : sorted_put(&engine->to_prove, &row);
        if (r < 0)
            return r;
    }
    return 0;
}

static int prove_due(struct nat_engine *engine, int64_t end_us, service_proof_list *changes)
{
    while (engine->to_prove.count && clock_mono_us() < end_us) {
        const struct nat_row *last =
            *(struct nat_row **)sorted_at(&engine->to_prove, engine->to_prove.count - 1);
        sorted_remove(&engine->to_prove, &last);
        int r = prove_row(engine, last, changes);
        if (r < 0)
            return r;
    }
    return 0;
}

int nat_proving_slice(struct nat_engine *engine, service_proof_list *changes)
{
    int64_t end_us = clock_mono_us() + SLICE_US;
    int r = prove_turns(engine, end_us, changes);
    if (r < 0)
        return r;
    r = prove_due(engine, end_us, changes);
    if (r < 0)
        return r;
    if (engine->proving.everything && !nat_proving_goes_on(engine) && engine->status->source.synced)
        r = nat_proofs_disinherit(&engine->proofs, changes);
    return r;
}

int nat_proving_invalidate(struct nat_engine *engine, ip_list *changed)
{
    CLEANUP(service_proofs_done) service_proof_list changes = { 0 };
    int r = nat_proofs_invalidate(&engine->proofs, no_hook, &changes);
    return r < 0 ? r : nat_proofs_commit(&engine->proofs, &changes, changed);
}

bool nat_proving_goes_on(const struct nat_engine *engine)
{
    return engine->to_prove.count > 0;
}

void nat_proving_begin(struct nat_engine *engine)
{
    struct nat_proving *proving = &engine->proving;
    if (!proving->began_us)
        proving->began_us = clock_mono_us();
    proving->all |= engine->work.all;
    proving->everything |= engine->work.all || engine->node.moved;
    proving->writes |= engine->work.all || engine->turns.count > 0;
}

/* Records how long the changes took that are now in the maps and proved. */
static void time_triggers(struct nat_engine *engine, int64_t wall_ms)
{
    for (size_t i = engine->triggers.services.count; i > 0; i--) {
        const struct nat_trigger *trigger = sorted_at(&engine->triggers.services, i - 1);
        struct nat_row *row = nat_state_row(engine, trigger->namespace, trigger->name);
        if (row && sorted_find(&engine->unproved, &row))
            continue;
        if (row)
            nat_status_programmed(&engine->status->nat, trigger->wall_ms, wall_ms);
        nat_triggers_forget(&engine->triggers, i - 1);
    }
}

void nat_proving_end(struct nat_engine *engine)
{
    struct nat_proving *proving = &engine->proving;
    int64_t ended_wall_ms = clock_wall_ms();
    time_triggers(engine, ended_wall_ms);
    if (proving->writes)
        nat_status_synced(&engine->status->nat, proving->all, clock_mono_us() - proving->began_us,
                          ended_wall_ms);
    *proving = (struct nat_proving){ 0 };
}
