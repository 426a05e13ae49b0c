// SPDX-License-Identifier: Apache-2.0
/* See pending_writes.h. */
#include "plan/pods/pending_writes.h"

#include <stdbool.h>
#include <string.h>

void pending_writes_note(struct pending_writes *writes, const struct lease_record *record,
                         int64_t sent_ms)
{
    struct pending_write *items = writes->items;
    memmove(items + 1, items, sizeof(writes->items) - sizeof(*items));
    items[0] = (struct pending_write){ *record, sent_ms };
}

void pending_writes_drop_newest(struct pending_writes *writes)
{
    writes->items[0].record.holder[0] = '\0';
}

const struct pending_write *pending_writes_find(const struct pending_writes *writes,
                                                const struct lease_record *record)
{
    for (size_t i = 0; i < PENDING_WRITES; i++) {
        const struct pending_write *write = &writes->items[i];
        if (write->record.holder[0] && lease_record_eq(&write->record, record))
            return write;
    }
    return NULL;
}

static bool has_time(const struct pending_writes *writes, int64_t renewed_wall_ms)
{
    for (size_t i = 0; i < PENDING_WRITES; i++) {
        if (writes->items[i].record.renewed_wall_ms == renewed_wall_ms)
            return true;
    }
    return false;
}

int64_t pending_writes_distinct_wall_ms(const struct pending_writes *writes,
                                        const struct lease_record *seen, int64_t wall_ms)
{
    while (has_time(writes, wall_ms) || seen->renewed_wall_ms == wall_ms)
        wall_ms++;
    return wall_ms;
}
