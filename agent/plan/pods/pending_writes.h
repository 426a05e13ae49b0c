/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of a node that were asked for, and whose answer never came: they may have been done, or be
 * yet. Each has the time when it was sent, which is what a record that shows it counts from. Used
 * by plan/claims/lease_state.c.
 */
#pragma once

#include <stdint.h>

#include "model/lease.h"

enum { PENDING_WRITES = 4 };

struct pending_write {
    struct lease_record record; /* no holder: none */
    int64_t sent_ms;
};

struct pending_writes {
    struct pending_write items[PENDING_WRITES]; /* the newest first */
};

/* The one that is more than PENDING_WRITES back is forgotten, and proves nothing any more. */
void pending_writes_note(struct pending_writes *writes, const struct lease_record *record,
                         int64_t sent_ms);
/* The newest one was refused. */
void pending_writes_drop_newest(struct pending_writes *writes);
/* The one that wrote this record; NULL: none did. */
const struct pending_write *pending_writes_find(const struct pending_writes *writes,
                                                const struct lease_record *record);
/* A time of renewal that none of them has, nor `seen`: no two requests must say the same. */
int64_t pending_writes_distinct_wall_ms(const struct pending_writes *writes,
                                        const struct lease_record *seen, int64_t wall_ms);
