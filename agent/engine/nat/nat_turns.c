// SPDX-License-Identifier: Apache-2.0
/*
 * The second half of NAT's part of a pass: turns are carried out, who is gone leaves, what was
 * written is proved (nat_proving.c). See nat_engine.h.
 *
 * Rows take their new place before anything is written, so that a pass which fails half-way leaves
 * rows that a pass over everything compares with the live maps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "engine/nat/nat_engine_parts.h"
#include "plan/nat_change.h"

/* From the deletion of the route to the refusal: packets under way are still served. */
enum { LEAVE_MS = 1000 };

static struct nat_leaver *leaver_of(struct nat_engine *engine, const struct nat_row *row)
{
    vec_each(struct nat_leaver, leaver, &engine->leavers) {
        if (nat_row_cmp(&(const struct nat_row *){ leaver->row }, &row) == 0)
            return leaver;
    }
    return NULL;
}

static void forget_leaver(struct nat_engine *engine, struct nat_leaver *leaver)
{
    nat_row_free(leaver->row);
    *leaver = engine->leavers.items[--engine->leavers.count];
}

/* On the copy's account nothing is changed that an earlier agent has left. */
static bool is_left_alone(struct nat_engine *engine, const struct nat_row *row)
{
    struct nat_counter counter;
    return !engine->status->source.synced &&
           nat_plane_counters(engine->plane, row->namespace, row->name, &counter);
}

static int write_row(struct nat_engine *engine, const struct nat_row *row)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = nat_plane_write(engine->plane, row, &faults);
    nat_engine_report_row(engine, "maps", row, &faults);
    if (r > 0)
        engine->status->nat.writes++;
    return r == -ENOMEM ? r : 0; /* a full map is a fault of that Service, the others go on */
}

static int remove_row(struct nat_engine *engine, const struct nat_row *row)
{
    static const struct faults none = { 0 };
    int r = nat_plane_remove(engine->plane, row->namespace, row->name);
    nat_engine_report_row(engine, "maps", row, &none);
    nat_engine_report_row(engine, "proof", row, &none);
    return r < 0 ? r : 0;
}

/* The Service is gone: at once where nobody outside was sent here, else when the network knows. */
static int leave(struct nat_engine *engine, struct nat_row *row, int64_t now_ms,
                 service_proof_list *changes)
{
    ip_list addresses = { 0 }, losses = { 0 };
    int r = nat_row_addresses(row, &addresses);
    if (r == 0)
        r = nat_row_losses(row, NULL, &losses);
    if (r == 0)
        r = nat_proofs_change(changes, row, &addresses, NULL);
    bool announced = false;
    vec_each(const struct ip, address, &losses) {
        const struct proof key = { .address = *address };
        const struct proof *proof = sorted_find(&engine->proofs.of_addresses, &key);
        announced |= proof && proof->proved;
    }
    vec_done(&addresses);
    vec_done(&losses);
    if (r < 0)
        return r;
    const struct nat_leaver leaver = { row, announced ? now_ms + LEAVE_MS : now_ms };
    return vec_push(&engine->leavers, leaver);
}

static int end_leavers(struct nat_engine *engine, int64_t now_ms)
{
    for (size_t i = 0; i < engine->leavers.count;) {
        struct nat_leaver *leaver = &engine->leavers.items[i];
        if (leaver->due_ms > now_ms) {
            i++;
            continue;
        }
        int r = remove_row(engine, leaver->row);
        if (r < 0)
            return r;
        forget_leaver(engine, leaver);
    }
    return 0;
}

/* Rows take their new place; the old ones are kept by the turns until all is done. */
static int place_rows(struct nat_engine *engine)
{
    size_t count = engine->turns.count;
    AUTOFREE struct sorted_change *changes = calloc(count + 1, sizeof(*changes));
    if (!changes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct nat_turn *turn = &engine->turns.items[i];
        changes[i] = (struct sorted_change){ .item = turn->new ? &turn->new : &turn->old,
                                             .remove = !turn->new };
    }
    int r = sorted_merge(&engine->rows, changes, count);
    vec_each(struct nat_turn, turn, &engine->turns) {
        if (r == 0 && turn->old)
            nat_engine_forget_row(engine, turn->old);
    }
    return r;
}

static int carry_out(struct nat_engine *engine, struct nat_turn *turn, int64_t now_ms,
                     service_proof_list *changes)
{
    struct nat_row *old = turn->old, *new = turn->new;
    const struct nat_row *any = new ? new : old;
    int r = 0;
    if (engine->on_row)
        engine->on_row(any->namespace, any->name, new, engine->on_row_context);
    if (new) {
        struct nat_leaver *leaver = leaver_of(engine, new);
        if (leaver)
            forget_leaver(engine, leaver);
        if (old || !is_left_alone(engine, new))
            r = write_row(engine, new);
        if (r == 0 && old)
            r = nat_engine_disprove_lost(old, new, changes);
    } else {
        r = leave(engine, old, now_ms, changes);
        if (r == 0)
            turn->old = NULL; /* the leaver's now */
    }
    return r;
}

struct strangers {
    struct nat_engine *engine;
    VEC(struct nat_row *) rows; /* names only */
};

static int note_stranger(const char *namespace, const char *name, void *context)
{
    struct strangers *strangers = context;
    struct nat_row key = { .namespace = (char *)namespace, .name = (char *)name };
    if (nat_engine_row(strangers->engine, namespace, name) || leaver_of(strangers->engine, &key))
        return 0;
    struct nat_row *row = calloc(1, sizeof(*row));
    if (row) {
        row->namespace = strdup(namespace);
        row->name = strdup(name);
    }
    if (!row || !row->namespace || !row->name || vec_push(&strangers->rows, row) < 0) {
        nat_row_free(row);
        return -ENOMEM;
    }
    return 0;
}

/* What an earlier agent wrote and no object names any more; its routes go first. */
static int dismiss_strangers(struct nat_engine *engine, int64_t now_ms)
{
    struct strangers strangers = { .engine = engine };
    if (engine->status->source.unknown_files || !engine->status->source.synced)
        return 0;
    int r = nat_plane_each_service(engine->plane, note_stranger, &strangers);
    vec_each(struct nat_row *, row, &strangers.rows) {
        if (r == 0)
            r = vec_push(&engine->leavers, (struct nat_leaver){ *row, now_ms + LEAVE_MS });
        if (r < 0)
            nat_row_free(*row);
    }
    vec_done(&strangers.rows);
    return r;
}

/* Of a pass over everything: what did not turn is compared with the live maps, too. */
static int go_over_rest(struct nat_engine *engine, int64_t now_ms)
{
    size_t turn = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < engine->rows.count; i++) {
        const struct nat_row *row = *(struct nat_row **)sorted_at(&engine->rows, i);
        while (turn < engine->turns.count && !engine->turns.items[turn].new)
            turn++;
        if (turn < engine->turns.count && engine->turns.items[turn].new == row) {
            turn++; /* both are in order of names */
            continue;
        }
        uint64_t writes = engine->status->nat.writes;
        if (!is_left_alone(engine, row))
            r = write_row(engine, row);
        if (r == 0)
            r = sorted_put(&engine->due, &row);
        engine->status->nat.repairs += engine->status->nat.writes - writes;
    }
    return r < 0 ? r : dismiss_strangers(engine, now_ms);
}

static int prove_again(struct nat_engine *engine)
{
    int r = 0;
    sorted_each(struct nat_row *, row, &engine->unproved) {
        if (r == 0)
            r = sorted_put(&engine->due, row);
    }
    return r;
}

void nat_engine_count(struct nat_engine *engine)
{
    struct nat_status *status = &engine->status->nat;
    status->services = status->frontends = status->endpoints = 0;
    for (size_t i = 0; i < engine->rows.count; i++) {
        const struct nat_row *row = *(struct nat_row **)sorted_at(&engine->rows, i);
        status->services += row->family_count > 0;
        for (uint32_t j = 0; j < row->family_count; j++) {
            status->frontends += (uint32_t)row->families[j].frontends.count;
            vec_each(const struct nat_port, port, &row->families[j].ports) {
                status->endpoints += (uint32_t)port->serving.count;
            }
        }
    }
    nat_proofs_count(&engine->proofs, &status->proved, &status->unproved);
}

/* What was is freed; what is stands in `rows`. */
static void end_turns(struct nat_engine *engine)
{
    vec_each(struct nat_turn, turn, &engine->turns) {
        nat_row_free(turn->old);
    }
    vec_done(&engine->turns);
}

/* Nothing is lost from here on: rows that were not written are found by a pass over all. */
static int write_turns(struct nat_engine *engine, const struct nat_work *work, int64_t now_ms,
                       service_proof_list *changes)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < engine->turns.count; i++)
        r = carry_out(engine, &engine->turns.items[i], now_ms, changes);
    if (r == 0)
        r = end_leavers(engine, now_ms);
    if (work->all)
        nat_plane_doubt(engine->plane);
    if (r == 0 && (work->all || engine->node.moved))
        r = go_over_rest(engine, now_ms);
    else if (r == 0 && (work->retry || work->node))
        r = prove_again(engine);
    return r;
}

int nat_engine_write(struct nat_engine *engine, const struct nat_work *work, int64_t now_ms,
                     ip_list *changed)
{
    service_proof_list changes = { 0 };
    struct nat_status *status = &engine->status->nat;
    if (!engine->plane || !status_is_known(engine->status))
        return 0;
    nat_engine_begin_round(engine, work->all);
    int r = place_rows(engine);
    if (r < 0) {
        nat_engine_drop_turns(engine);
        return r;
    }
    if (engine->node.moved && !engine->node.attached)
        r = nat_engine_disprove(engine, changed);
    if (r == 0)
        r = write_turns(engine, work, now_ms, &changes);
    if (r == 0)
        r = nat_engine_prove(engine, &changes);
    if (r == 0)
        r = nat_proofs_commit(&engine->proofs, &changes, changed);
    service_proofs_done(&changes);
    end_turns(engine);
    if (r == 0) {
        engine->node.moved = false;
        engine->synced |= work->all && engine->status->source.synced;
        engine->complete |= work->all;
        status->complete = engine->complete;
        status->service_pending = status->endpoint_pending = 0;
        if (!nat_engine_is_proving(engine))
            nat_engine_end_round(engine);
    }
    return r;
}
