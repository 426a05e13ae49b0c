// SPDX-License-Identifier: Apache-2.0
/*
 * The writing half of a NAT round; see nat_updates.h.
 *
 * The updates are executed, retired Services that are due are removed, and what was written is
 * proved. Only differences are written: an unchanged Service costs a comparison with the live maps
 * in a pass over everything, and nothing in other passes. The new rows are put in place before
 * anything is written; if the pass fails in between, the following pass over everything compares
 * these rows with the live maps.
 *
 * A stale Service is one that the maps have and no object names: an earlier agent wrote it. No
 * stale Service is removed while a manifest has been broken ever since the start, because that file
 * may name it. While the copy on disk is in force because the source has not synced, NAT only adds:
 * what an earlier agent left in the maps for a Service stays as it is, since the maps may be newer
 * than the copy. The proof of that Service shows whether maps and copy agree.
 */
#include "engine/nat/nat_updates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "engine/nat/proof/nat_proving.h"
#include "plan/nat/nat_change.h"

/* From the removal of the route to that from the maps: packets in flight are still served. */
enum { LEAVE_MS = 1000 };

static struct nat_retired *retired_of(struct nat_engine *engine, const struct nat_row *row)
{
    vec_each(struct nat_retired, retired, &engine->retired) {
        if (nat_row_cmp(&(const struct nat_row *){ retired->row }, &row) == 0)
            return retired;
    }
    return NULL;
}

static void forget_retired(struct nat_engine *engine, struct nat_retired *retired)
{
    nat_row_free(retired->row);
    *retired = engine->retired.items[--engine->retired.count];
}

/* True while only the copy is in force and an earlier agent left the Service in the maps. */
static bool is_left_alone(struct nat_engine *engine, const struct nat_row *row)
{
    struct nat_counter counter;
    return !engine->status->source.synced &&
           nat_datapath_counters(engine->datapath, row->namespace, row->name, &counter);
}

static int write_row(struct nat_engine *engine, const struct nat_row *row)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = nat_datapath_write(engine->datapath, row, &faults);
    nat_state_report_row(engine, "maps", row, &faults);
    if (r > 0)
        engine->status->nat.writes++;
    return r == -ENOMEM ? r : 0; /* a full map is a fault of that Service; the others continue */
}

static int remove_row(struct nat_engine *engine, const struct nat_row *row)
{
    static const struct faults none = { 0 };
    int r = nat_datapath_remove(engine->datapath, row->namespace, row->name);
    nat_state_report_row(engine, "maps", row, &none);
    nat_state_report_row(engine, "proof", row, &none);
    return r < 0 ? r : 0;
}

static bool is_announced(const struct nat_engine *engine, const ip_list *addresses)
{
    vec_each(const struct ip, address, addresses) {
        const struct proof key = { .address = *address };
        const struct proof *proof = sorted_find(&engine->proofs.of_addresses, &key);
        if (proof && proof->proved)
            return true;
    }
    return false;
}

/*
 * Retires the Service: at once if it was not announced, otherwise after the withdrawal has reached
 * the network.
 */
static int leave(struct nat_engine *engine, struct nat_row *row, int64_t now_ms,
                 service_proof_list *changes)
{
    AUTOVEC ip_list addresses = { 0 }, losses = { 0 };
    int r = nat_row_addresses(row, &addresses);
    if (r < 0)
        return r;
    r = nat_row_losses(row, NULL, &losses);
    if (r < 0)
        return r;
    r = nat_proofs_change(changes, row, &addresses, NULL);
    if (r < 0)
        return r;
    int64_t due_ms = is_announced(engine, &losses) ? now_ms + LEAVE_MS : now_ms;
    return vec_push(&engine->retired, (struct nat_retired){ row, due_ms });
}

static int end_retired(struct nat_engine *engine, int64_t now_ms)
{
    for (size_t i = 0; i < engine->retired.count;) {
        struct nat_retired *retired = &engine->retired.items[i];
        if (retired->due_ms > now_ms) {
            i++;
            continue;
        }
        int r = remove_row(engine, retired->row);
        if (r < 0)
            return r;
        forget_retired(engine, retired);
    }
    return 0;
}

/* Puts the new rows in place; the updates keep the old ones until everything is done. */
static int place_rows(struct nat_engine *engine)
{
    size_t count = engine->turns.count;
    AUTOFREE struct sorted_change *changes = calloc(count + 1, sizeof(*changes));
    if (!changes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct nat_update *turn = &engine->turns.items[i];
        changes[i] = (struct sorted_change){ .item = turn->after ? &turn->after : &turn->before,
                                             .remove = !turn->after };
    }
    int r = sorted_merge(&engine->rows, changes, count);
    if (r < 0)
        return r;
    vec_each(struct nat_update, turn, &engine->turns) {
        if (turn->before)
            nat_proving_forget_row(engine, turn->before);
    }
    return 0;
}

static int enter(struct nat_engine *engine, const struct nat_update *turn,
                 service_proof_list *changes)
{
    struct nat_retired *retired = retired_of(engine, turn->after);
    if (retired)
        forget_retired(engine, retired);
    int r =
        turn->before || !is_left_alone(engine, turn->after) ? write_row(engine, turn->after) : 0;
    if (r < 0 || !turn->before)
        return r;
    return nat_proving_drop_lost(turn->before, turn->after, changes);
}

static int carry_out(struct nat_engine *engine, struct nat_update *turn, int64_t now_ms,
                     service_proof_list *changes)
{
    const struct nat_row *any = turn->after ? turn->after : turn->before;
    if (engine->told)
        engine->told(any->namespace, any->name, turn->after, engine->told_context);
    if (turn->after)
        return enter(engine, turn, changes);
    int r = leave(engine, turn->before, now_ms, changes);
    if (r < 0)
        return r;
    turn->before = NULL; /* the retired Service owns it now */
    return 0;
}

struct stale {
    struct nat_engine *engine;
    VEC(struct nat_row *) rows; /* names only */
};

static int note_stale(const char *namespace, const char *name, void *context)
{
    struct stale *stale = context;
    struct nat_row key = { .namespace = (char *)namespace, .name = (char *)name };
    if (nat_state_row(stale->engine, namespace, name) || retired_of(stale->engine, &key))
        return 0;
    struct nat_row *row = calloc(1, sizeof(*row));
    if (row) {
        row->namespace = strdup(namespace);
        row->name = strdup(name);
    }
    if (!row || !row->namespace || !row->name || vec_push(&stale->rows, row) < 0) {
        nat_row_free(row);
        return -ENOMEM;
    }
    return 0;
}

/* Makes retired Services of all stale Services, so that their routes are removed first. */
static int retire_stale(struct nat_engine *engine, int64_t now_ms)
{
    struct stale stale = { .engine = engine };
    if (engine->status->source.unknown_files || !engine->status->source.synced)
        return 0;
    int r = nat_datapath_each_service(engine->datapath, note_stale, &stale);
    vec_each(struct nat_row *, row, &stale.rows) {
        if (r == 0)
            r = vec_push(&engine->retired, (struct nat_retired){ *row, now_ms + LEAVE_MS });
        if (r < 0)
            nat_row_free(*row);
    }
    vec_done(&stale.rows);
    return r;
}

/* Compares a row without an update with the live maps; a difference is a foreign change. */
static int go_over_row(struct nat_engine *engine, const struct nat_row *row)
{
    uint64_t writes = engine->status->nat.writes;
    int r = is_left_alone(engine, row) ? 0 : write_row(engine, row);
    if (r < 0)
        return r;
    engine->status->nat.repairs += engine->status->nat.writes - writes;
    return sorted_put(&engine->to_prove, &row);
}

/* In a pass over everything, rows without an update are compared with the live maps, too. */
static int go_over_rest(struct nat_engine *engine, int64_t now_ms)
{
    size_t at = 0; /* both are in order of names */
    sorted_each(struct nat_row *, row, &engine->rows) {
        while (at < engine->turns.count && !engine->turns.items[at].after)
            at++;
        if (at < engine->turns.count && engine->turns.items[at].after == *row) {
            at++;
            continue;
        }
        int r = go_over_row(engine, *row);
        if (r < 0)
            return r;
    }
    return retire_stale(engine, now_ms);
}

static int prove_again(struct nat_engine *engine, const struct sorted *rows)
{
    sorted_each(struct nat_row *, row, rows) {
        int r = sorted_put(&engine->to_prove, row);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A failure loses nothing: the following pass over everything finds the rows not written. */
static int write_turns(struct nat_engine *engine, int64_t now_ms, service_proof_list *changes)
{
    const struct nat_work *work = &engine->work;
    vec_each(struct nat_update, turn, &engine->turns) {
        int r = carry_out(engine, turn, now_ms, changes);
        if (r < 0)
            return r;
    }
    int r = end_retired(engine, now_ms);
    if (r < 0)
        return r;
    if (work->all)
        nat_datapath_invalidate(engine->datapath);
    r = nat_paths_take_due(&engine->paths, &engine->rows, now_ms, &engine->to_prove);
    if (r < 0)
        return r;
    if (work->all || engine->node.moved)
        return go_over_rest(engine, now_ms);
    if (engine->firewall.moved) /* it opens and closes addresses without a change in the maps */
        return prove_again(engine, &engine->rows);
    return work->retry || work->node ? prove_again(engine, &engine->unproved) : 0;
}

static int write_and_prove(struct nat_engine *engine, struct round *round)
{
    CLEANUP(service_proofs_done) service_proof_list changes = { 0 };
    if (engine->node.moved && !engine->node.attached) {
        int r = nat_proving_invalidate(engine, &round->touched);
        if (r < 0)
            return r;
    }
    int r = write_turns(engine, round->now_ms, &changes);
    if (r < 0)
        return r;
    r = nat_proving_slice(engine, &changes);
    return r < 0 ? r : nat_proofs_commit(&engine->proofs, &changes, &round->touched);
}

/* Frees the old rows; the new ones are in `rows`. */
static void end_turns(struct nat_engine *engine)
{
    vec_each(struct nat_update, turn, &engine->turns)
        nat_row_free(turn->before);
    vec_done(&engine->turns);
}

static void note_written(struct nat_engine *engine)
{
    struct nat_status *status = &engine->status->nat;
    engine->node.moved = engine->firewall.moved = false;
    engine->synced |= engine->work.all && engine->status->source.synced;
    engine->complete |= engine->work.all;
    status->complete = engine->complete;
    status->service_pending = status->endpoint_pending = 0;
    if (!nat_proving_goes_on(engine))
        nat_proving_end(engine);
}

static bool any_comes_or_goes(const struct nat_engine *engine)
{
    vec_each(const struct nat_update, turn, &engine->turns) {
        if (!turn->before || !turn->after)
            return true;
    }
    return engine->work.all;
}

/* The rows are in order of namespaces. */
static uint32_t count_namespaces(const struct sorted *rows)
{
    const char *last = "";
    uint32_t count = 0;
    sorted_each(struct nat_row *const, row, rows) {
        count += strcmp((*row)->namespace, last) != 0;
        last = (*row)->namespace;
    }
    return count;
}

int nat_updates_write(struct nat_engine *engine, struct round *round)
{
    nat_proving_begin(engine);
    int r = place_rows(engine);
    if (r < 0)
        return r;
    if (any_comes_or_goes(engine))
        nat_datapath_set_pod_interfaces(engine->datapath, count_namespaces(&engine->rows));
    r = write_and_prove(engine, round);
    end_turns(engine);
    if (r == 0)
        note_written(engine);
    return r;
}
