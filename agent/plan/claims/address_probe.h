/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a node that the store does not answer asks on its segments who has an address. A segment
 * that was in two is one again before the store is heard: connections have to find out first, and
 * hosts send to where an address was meanwhile. So one address after the other is asked for; the
 * first answer after some silence says that all are to be asked for (announcing_seek()), which
 * makes their holders say so to everybody.
 *
 * Where somebody answers all the time, the store is away for this node alone: it asks less often.
 *
 * Pure. Times are of CLOCK_BOOTTIME.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct address_probe {
    bool begun;
    int64_t next_ms;     /* of the next question; INT64_MAX or not begun: none */
    unsigned unanswered; /* in a row */
};

/* Whether to ask for an address now. `cut_off`: there is one to ask for. */
bool address_probe_next(struct address_probe *address_probe, bool cut_off, int64_t now_ms);

/* When address_probe_next() has something to ask without an event; INT64_MAX: never. */
int64_t address_probe_due_ms(const struct address_probe *address_probe);

/* Somebody says that he has one. True: nobody had answered for a while. */
bool address_probe_heard(struct address_probe *address_probe);
