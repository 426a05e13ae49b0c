/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rival: another program that keeps undoing what we write (a flush in a loop, a second agent, a
 * network manager that deletes foreign routes). A foreign change to what is ours is undone at once.
 * Against a rival that would be an endless fight at full speed; so while there is a rival, repairs
 * are made once a second, and a fault names it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct rival {
    int64_t window_ms; /* monotonic start of the minute that is counted */
    uint32_t repairs;  /* passes within that minute that repaired something */
    uint32_t writer;   /* netlink port of the last one; usually its process id */
};

/* Notes a pass that repaired something. */
void rival_note(struct rival *rival, uint32_t writer, int64_t now_ms);
/* True while somebody undoes our work again and again. */
bool rival_present(const struct rival *rival, int64_t now_ms);
/* The fault that names it. */
void rival_fault(const struct rival *rival, struct faults *faults);
