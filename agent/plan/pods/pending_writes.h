/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of a node without a response: they may have been done, or may still be. Each has the time
 * when it was sent, from which the lease counts if a record shows the write. Used by
 * plan/claims/lease_state.c.
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

/* Adds a write; only the last PENDING_WRITES are kept as proof. */
void pending_writes_note(struct pending_writes *writes, const struct lease_record *record,
                         int64_t sent_ms);
/* The newest one was refused. */
void pending_writes_drop_newest(struct pending_writes *writes);
/* The write of this record; NULL: none. */
const struct pending_write *pending_writes_find(const struct pending_writes *writes,
                                                const struct lease_record *record);
/*
 * A renewTime that differs from those of all of them and of `seen`: no two requests may be equal.
 */
int64_t pending_writes_distinct_wall_ms(const struct pending_writes *writes,
                                        const struct lease_record *seen, int64_t wall_ms);
