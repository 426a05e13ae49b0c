/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no notification tells of is looked at: settings of the host, sockets and files that a
 * cleaner may take, programs that somebody detaches. Whoever has something to look at adds a table
 * of rows; one timer serves them all.
 *
 * Times are those of a grid of LOOKS_GRID_MS, and rows of one period are spread over it: however
 * many there are, the agent wakes no oftener than the grid, and they do not all fall together. What
 * is due in one turn of the loop is looked at until LOOKS_TURN_US are used; the rest waits for the
 * next turn, so that nothing else has to wait. A row that costs much comes less often: it rests for
 * LOOKS_REST times the processor time that it took.
 *
 * Where a notification says that there is news, looks_hurry() has a row looked at earlier; the
 * period is then for what the notification may have missed.
 *
 * How to add one: a function that asks the kernel, compares, and replaces the faults of its group;
 * a row in the owner's table; a line in the table of docs/architecture.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

enum { LOOKS_GRID_MS = 100, LOOKS_TURN_US = 2000, LOOKS_REST = 10, LOOKS_HURRY_MS = 300 };

struct looks;

/* One row. The context of both functions is the owner's. */
struct look {
    const char *name;  /* "socket"; no other row has it */
    int64_t period_ms; /* a multiple of the grid: 400 to 500 for what is told within a second */
    /*
     * Looks, and tells by faults what it found; `now_ms` is monotonic. It must not block, nor add
     * or drop rows. Returns whether `moved` is to be called.
     */
    bool (*look)(void *context, int64_t now_ms);
    /* Wakes whoever has to act: asks for a pass, mostly. NULL: the faults say all. */
    void (*moved)(void *context);
};

/* Without an event loop only looks_turn() looks. Returns 0 or -errno. */
int looks_new(sd_event *event, struct looks **ret_looks);
void looks_free(struct looks *looks);
DEFINE_CLEANUP(struct looks *, looks_free);

/*
 * Looks from now on at the rows of a table, which is borrowed, as the context is, until they are
 * dropped; each for the first time within its period. Without `looks` nobody looks. Returns 0 or
 * -ENOMEM.
 */
int looks_add(struct looks *looks, const struct look *table, size_t count, void *context);
/* Drops all rows of an owner. Harmless if there are none, and without `looks`. */
void looks_drop(struct looks *looks, const void *context);

/*
 * Has the row of that name looked at earlier: in the turn that is under way, else at the next place
 * of the grid; but not within LOOKS_HURRY_MS of the last time that it was, nor while it rests. Its
 * period begins anew then. Harmless where nobody looks.
 */
void looks_hurry(struct looks *looks, const void *context, const char *name);

/* Looks at what is due. Returns when it is to be called again, monotonic; INT64_MAX: no rows. */
int64_t looks_turn(struct looks *looks, int64_t now_ms);
