// SPDX-License-Identifier: Apache-2.0
/*
 * The one timer of what has to be looked at; see looks.h.
 *
 * A row keeps its place on the grid: one that was late, or that rested, goes on at a time that it
 * would have had anyway. Only what is hurried moves to another place. There are a few dozen rows at
 * most, so the first one is sought by going through all.
 */
#include "loop/looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/vec.h"
#include "loop/timer.h"

/* Has no divisor in common with 2 and 5, of which periods are made: rows of one period go round. */
enum { STEP = 3 };

struct row {
    const struct look *look;
    void *context;
    int64_t due_ms;
    int64_t rests_ms; /* monotonic: until then nobody hurries it */
    bool hurried;
};

struct looks {
    VEC(struct row) rows;
    int64_t origin_ms; /* of the grid: agents of one machine do not all wake at once */
    int64_t added;     /* rows, ever */
    int64_t turn_ms;   /* of the turn that is under way; 0: none is */
    struct timer *timer;
};

static struct row *first_of(struct looks *looks)
{
    struct row *first = NULL;
    vec_each(struct row, row, &looks->rows) {
        if (!first || row->due_ms < first->due_ms)
            first = row;
    }
    return first;
}

/* `begin_us` and what is returned: the thread's processor time before and after. */
static int64_t look_at(struct row *row, int64_t now_ms, int64_t begin_us)
{
    const int64_t period_ms = row->look->period_ms;
    const bool moved = row->look->look(row->context, now_ms);
    if (moved && row->look->moved)
        row->look->moved(row->context);
    const int64_t end_us = clock_thread_us();
    const int64_t until_ms = now_ms + MAX((end_us - begin_us) * LOOKS_REST / 1000, INT64_C(1));
    row->rests_ms = MAX(until_ms, row->hurried ? now_ms + LOOKS_HURRY_MS : 0);
    row->hurried = false;
    row->due_ms += (until_ms - row->due_ms + period_ms - 1) / period_ms * period_ms;
    return end_us;
}

int64_t looks_turn(struct looks *looks, int64_t now_ms)
{
    const int64_t begin_us = clock_thread_us();
    struct row *row = first_of(looks);
    looks->turn_ms = now_ms;
    for (int64_t at_us = begin_us; row && row->due_ms <= now_ms && at_us - begin_us < LOOKS_TURN_US;
         row = first_of(looks))
        at_us = look_at(row, now_ms, at_us);
    looks->turn_ms = 0;
    return row ? row->due_ms : INT64_MAX;
}

static struct row *row_named(struct looks *looks, const void *context, const char *name)
{
    vec_each(struct row, row, &looks->rows) {
        if (row->context == context && strcmp(row->look->name, name) == 0)
            return row;
    }
    return NULL;
}

static void await_next(struct looks *looks, int64_t next_ms)
{
    if (looks->timer && next_ms < INT64_MAX)
        timer_arm(looks->timer, next_ms - clock_mono_ms());
}

static void on_time(void *context)
{
    struct looks *looks = context;
    await_next(looks, looks_turn(looks, clock_mono_ms()));
}

int looks_new(sd_event *event, struct looks **ret_looks)
{
    CLEANUP(looks_freep) struct looks *looks = calloc(1, sizeof(*looks));
    if (!looks)
        return -ENOMEM;
    looks->origin_ms = clock_mono_ms();
    int r = event ? timer_new(event, SD_EVENT_PRIORITY_IDLE, on_time, looks, &looks->timer) : 0;
    if (r < 0)
        return r;
    *ret_looks = TAKE_PTR(looks);
    return 0;
}

void looks_free(struct looks *looks)
{
    if (!looks)
        return;
    timer_free(looks->timer);
    vec_done(&looks->rows);
    free(looks);
}

/* The last time on the grid that is not later. */
static int64_t on_grid(const struct looks *looks, int64_t at_ms)
{
    return looks->origin_ms + (at_ms - looks->origin_ms) / LOOKS_GRID_MS * LOOKS_GRID_MS;
}

void looks_hurry(struct looks *looks, const void *context, const char *name)
{
    struct row *row = looks ? row_named(looks, context, name) : NULL;
    if (!row)
        return;
    int64_t at_ms = looks->turn_ms;
    if (at_ms == 0 || at_ms < row->rests_ms)
        at_ms = MAX(clock_mono_ms(), row->rests_ms) + LOOKS_GRID_MS - 1;
    at_ms = on_grid(looks, at_ms);
    if (at_ms >= row->due_ms)
        return;
    row->due_ms = at_ms;
    row->hurried = true;
    await_next(looks, first_of(looks)->due_ms);
}

/* The first time on the grid after now, and up to a period more for a place of its own. */
static int64_t first_time(struct looks *looks, int64_t period_ms)
{
    const int64_t passed = (clock_mono_ms() - looks->origin_ms) / LOOKS_GRID_MS;
    const int64_t place = looks->added++ * STEP % MAX(period_ms / LOOKS_GRID_MS, INT64_C(1));
    return looks->origin_ms + (passed + 1 + place) * LOOKS_GRID_MS;
}

int looks_add(struct looks *looks, const struct look *table, size_t count, void *context)
{
    int r = looks ? vec_reserve(&looks->rows, count) : 0;
    if (r < 0 || !looks)
        return r;
    for (size_t i = 0; i < count; i++)
        (void)vec_push(&looks->rows,
                       ((struct row){ &table[i], context, first_time(looks, table[i].period_ms) }));
    if (count)
        await_next(looks, first_of(looks)->due_ms);
    return 0;
}

void looks_drop(struct looks *looks, const void *context)
{
    size_t kept = 0;
    if (!looks)
        return;
    for (size_t i = 0; i < looks->rows.count; i++) {
        if (looks->rows.items[i].context != context)
            looks->rows.items[kept++] = looks->rows.items[i];
    }
    looks->rows.count = kept;
}
