// SPDX-License-Identifier: Apache-2.0
/*
 * The proofs of a round: from the pass that wrote until the last row is proved; see nat_engine.h.
 *
 * A proof of thousands of rows takes longer than the loop may be kept from everything else. So a
 * pass proves for a few milliseconds, first what it has written itself, and leaves the rest to the
 * next passes, which follow each other at once; between two of them the loop does whatever else is
 * pending. In the meantime a row that is due has the proof that it had before: what is new is not
 * announced yet, what stood goes on. Where a proof cannot be good any more it is taken back at
 * once: of an address that a row lost, and of all when a hook has lost its program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "engine/nat/nat_engine_parts.h"
#include "plan/nat_change.h"

enum { SLICE_US = 5000 };

static const char no_hook[] = "an interface does not carry the program";

void nat_engine_forget_row(struct nat_engine *engine, const struct nat_row *row)
{
    sorted_remove(&engine->unproved, &row);
    sorted_remove(&engine->due, &row);
}

/* Without what is in `others`; both are sorted. */
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

int nat_engine_disprove_lost(const struct nat_row *old, const struct nat_row *new,
                             service_proof_list *changes)
{
    ip_list lost = { 0 }, kept = { 0 };
    int r = nat_row_addresses(old, &lost);
    if (r == 0)
        r = nat_row_addresses(new, &kept);
    if (r == 0) {
        leave_out(&lost, &kept);
        r = nat_proofs_change(changes, old, &lost, NULL);
    }
    vec_done(&lost);
    vec_done(&kept);
    return r;
}

static int prove_row(struct nat_engine *engine, const struct nat_row *row,
                     service_proof_list *changes)
{
    AUTOFAULTS struct faults faults = { 0 };
    nat_proof_list list = { 0 };
    ip_list addresses = { 0 };
    int r = nat_row_addresses(row, &addresses);
    if (r == 0)
        r = nat_prove(engine->plane, &engine->node.origins, row, &list, &faults);
    if (r == 0 && !engine->node.attached) {
        vec_each(struct nat_proof, proof, &list) {
            proof->as_planned = proof->served = false;
            (void)snprintf(proof->why, sizeof(proof->why), "%s", no_hook);
        }
    }
    if (r == 0)
        r = nat_proofs_change(changes, row, &addresses, &list);
    bool good = faults_none(&faults);
    nat_engine_report_row(engine, "proof", row, &faults);
    if (r == 0 && !good)
        r = sorted_put(&engine->unproved, &row);
    else
        sorted_remove(&engine->unproved, &row);
    vec_done(&addresses);
    vec_done(&list);
    return r;
}

/* What this pass has written, while there is time; else it is due, too. */
static int prove_turns(struct nat_engine *engine, int64_t end_us, service_proof_list *changes)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < engine->turns.count; i++) {
        const struct nat_row *row = engine->turns.items[i].new;
        if (row)
            r = clock_mono_us() < end_us ? prove_row(engine, row, changes)
                                         : sorted_put(&engine->due, &row);
    }
    return r;
}

int nat_engine_prove(struct nat_engine *engine, service_proof_list *changes)
{
    int64_t end_us = clock_mono_us() + SLICE_US;
    int r = prove_turns(engine, end_us, changes);
    while (r == 0 && engine->due.count && clock_mono_us() < end_us) {
        const struct nat_row *last =
            *(struct nat_row **)sorted_at(&engine->due, engine->due.count - 1);
        sorted_remove(&engine->due, &last);
        r = prove_row(engine, last, changes);
    }
    if (r == 0 && engine->round.everything && !nat_engine_is_proving(engine) &&
        engine->status->source.synced)
        r = nat_proofs_disinherit(&engine->proofs, changes);
    return r;
}

int nat_engine_disprove(struct nat_engine *engine, ip_list *changed)
{
    service_proof_list changes = { 0 };
    int r = nat_proofs_doubt(&engine->proofs, no_hook, &changes);
    if (r == 0)
        r = nat_proofs_commit(&engine->proofs, &changes, changed);
    service_proofs_done(&changes);
    return r;
}

bool nat_engine_is_proving(const struct nat_engine *engine)
{
    return engine->due.count > 0;
}

/* ---- rounds ---- */

void nat_engine_begin_round(struct nat_engine *engine, bool all)
{
    struct nat_round *round = &engine->round;
    if (!round->began_us)
        round->began_us = clock_mono_us();
    round->all |= all;
    round->everything |= all || engine->node.moved;
    round->writes |= all || engine->turns.count > 0;
}

/* Of changes that are in the maps, and proved, the time that they took. */
static void time_triggers(struct nat_engine *engine, int64_t wall_ms)
{
    for (size_t i = engine->triggers.services.count; i > 0; i--) {
        const struct nat_trigger *trigger = sorted_at(&engine->triggers.services, i - 1);
        struct nat_row *row = nat_engine_row(engine, trigger->namespace, trigger->name);
        if (row && sorted_find(&engine->unproved, &row))
            continue;
        if (row)
            nat_status_programmed(&engine->status->nat, trigger->wall_ms, wall_ms);
        nat_triggers_forget(&engine->triggers, i - 1);
    }
}

void nat_engine_end_round(struct nat_engine *engine)
{
    struct nat_round *round = &engine->round;
    int64_t ended_wall_ms = clock_wall_ms();
    time_triggers(engine, ended_wall_ms);
    if (round->writes)
        nat_status_synced(&engine->status->nat, round->all, clock_mono_us() - round->began_us,
                          ended_wall_ms);
    *round = (struct nat_round){ 0 };
}
