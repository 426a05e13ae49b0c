// SPDX-License-Identifier: Apache-2.0
/*
 * The stages of a pass; see engine.h for their meaning.
 *
 * The order of the stages loses no packet: every engine withdraws what is about to lose service
 * before any engine writes. Engines write in the order of the table, so that an address is proved
 * before it is announced. The kernel's events are collected before anything is written: changes
 * that other programs make while a pass runs are collected separately and cause another pass. The
 * store's changes are discarded at the end, even if the pass failed, because a pass over everything
 * follows a failed one.
 *
 * An engine that can't plan or write stops no other engine: its earlier work stays in the kernel,
 * and the others rely on proofs of what is there.
 */
#include "engine/pass.h"

#include "base/vec.h"

/* Iterates over the engines that have the operation. */
#define each_engine(it, engines, op)                \
    vec_each(struct engine *, it, &(engines)->list) \
        if ((*it)->ops->op)

void round_done(struct round *round)
{
    vec_done(&round->losses);
    vec_done(&round->touched);
}

static int note(struct engines *engines, const struct change *change, struct round *round)
{
    each_engine(engine, engines, note)
    {
        int r = (*engine)->ops->note(*engine, change, round);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_changes(struct engines *engines, struct store *store, struct round *round)
{
    AUTOVEC change_list changes = { 0 };
    int r = store_changes(store, &changes);
    if (r < 0)
        return r;
    vec_each(const struct change, change, &changes) {
        r = note(engines, change, round);
        if (r < 0)
            return r;
    }
    return 0;
}

static int hear(struct engines *engines, struct kernel *kernel, struct round *round,
                uint32_t *ret_writer)
{
    int r = kernel_read(kernel);
    if (r < 0)
        return r;
    const struct kernel_events *events = kernel_events(kernel);
    *ret_writer = events->writer;
    each_engine(engine, engines, hear)
    {
        r = (*engine)->ops->hear(*engine, events, round);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Records the engine that failed first, for operators. Returns the error of the round so far. */
static int note_failure(const struct engine *engine, int error, struct round *round)
{
    if (!round->failed)
        round->failed = engine->ops->name;
    return round->error ? round->error : error;
}

/* An engine that fails stops here; the others continue. */
static void plan(struct engines *engines, struct round *round)
{
    vec_each(struct engine *, it, &engines->list) {
        struct engine *engine = *it;
        const size_t losses = round->losses.count, touched = round->touched.count;
        int r = engine->ops->plan ? engine->ops->plan(engine, round) : 0;
        engine->stopped = r < 0;
        if (!engine->stopped)
            continue;
        round->losses.count = losses;
        round->touched.count = touched;
        round->error = note_failure(engine, r, round);
    }
}

/* What is not withdrawn may not lose service: no engine writes after a failure. */
static int withdraw(struct engines *engines, struct round *round)
{
    each_engine(engine, engines, withdraw)
    {
        int r = (*engine)->stopped ? 0 : (*engine)->ops->withdraw(*engine, round);
        if (r < 0)
            return note_failure(*engine, r, round);
    }
    return 0;
}

static void write_all(struct engines *engines, struct round *round)
{
    each_engine(engine, engines, write)
    {
        int r = (*engine)->stopped ? 0 : (*engine)->ops->write(*engine, round);
        if (r < 0)
            round->error = note_failure(*engine, r, round);
    }
}

static void act(struct engines *engines, struct round *round)
{
    plan(engines, round);
    int r = withdraw(engines, round);
    if (r < 0)
        round->error = r;
    else
        write_all(engines, round);
}

int pass_run(struct engines *engines, struct store *store, struct kernel *kernel,
             struct round *round, uint32_t *ret_writer)
{
    *ret_writer = 0;
    round->error = take_changes(engines, store, round);
    if (round->error == 0)
        round->error = hear(engines, kernel, round, ret_writer);
    if (round->error == 0) {
        kernel_events_done(kernel);
        act(engines, round);
    }
    each_engine(engine, engines, publish)(*engine)->ops->publish(*engine, round);
    store_changes_done(store);
    return round->error;
}
