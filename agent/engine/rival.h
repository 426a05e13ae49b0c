/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rival: another program that keeps undoing what we write (a flush in a loop, a second agent, a
 * network manager that deletes foreign routes). A foreign change to what is ours is undone at once.
 * Against a rival that would be an endless fight at full speed; so while there is a rival, repairs
 * are made once a second, and a fault names it. When three seconds had nothing to repair, it is
 * gone.
 *
 * A loop in a script writes from another process, and so another port, each time. The fault names
 * the one with which the fight began, until another port is seen twice one after the other: a
 * second program that stays.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fault.h"

/* Without a repair for so long, the fight is over. */
enum { RIVAL_CALM_MS = 3 * SECOND_MS };

struct rival {
    int64_t window_ms; /* monotonic start of the minute that is counted, or of the fight */
    int64_t last_ms;   /* monotonic, of the last repair */
    uint32_t repairs;  /* passes since then that repaired something */
    uint32_t writer;   /* netlink port that the fault names; usually a process id */
    char name[16];     /* of that process when it was named; empty: it had ended */
    uint32_t latest;   /* netlink port of the last repair */
};

/* Notes a pass that repaired what that netlink port had changed; 0: the kernel did not say who. */
void rival_note(struct rival *rival, uint32_t writer, int64_t now_ms);
/* True while somebody undoes our work again and again. */
bool rival_present(const struct rival *rival, int64_t now_ms);
/* The fault that names it. */
void rival_fault(const struct rival *rival, struct faults *faults);
