/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rival: another program that repeatedly undoes what we write (a flush in a loop, a second agent,
 * a network manager that deletes foreign routes). A foreign change to what is ours is undone at
 * once. With a rival this would repeat endlessly at full speed. So while there is a rival, repairs
 * are made once a second, and a fault names it. After three seconds without a repair it is
 * considered gone.
 *
 * A loop in a script writes from another process, and so another port, each time. The fault names
 * the port with which the conflict began, until another port is seen twice in a row: a second,
 * persistent program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fault.h"

/* Without a repair for this long, the conflict is over. */
enum { RIVAL_CALM_MS = 3 * SECOND_MS };

struct rival {
    int64_t window_ms; /* monotonic start of the minute that is counted, or of the conflict */
    int64_t last_ms;   /* monotonic, of the last repair */
    uint32_t repairs;  /* passes since then that repaired something */
    uint32_t writer;   /* netlink port that the fault names; usually a process id */
    char name[16];     /* name of that process when recorded; empty: it had ended */
    uint32_t latest;   /* netlink port of the last repair */
};

/* Notes a pass that repaired changes of that netlink port; 0: the kernel did not name one. */
void rival_note(struct rival *rival, uint32_t writer, int64_t now_ms);
/* True while another program repeatedly undoes our work. */
bool rival_present(const struct rival *rival, int64_t now_ms);
/* The fault that names it. */
void rival_fault(const struct rival *rival, struct faults *faults);
