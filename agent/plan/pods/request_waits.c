// SPDX-License-Identifier: Apache-2.0
/* Requests that wait; see request_waits.h. A wait that ends by itself is no fault: the planner has
 * no remedy for it. */
#include "plan/pods/request_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/blocks.h"
#include "faults/raise.h"

enum { FAULTS_MAX = 100 };

struct request_row {
    char *name;
    enum request_wait wait;
};

static int row_cmp(const void *a, const void *b)
{
    return strcmp(((const struct request_row *)a)->name, ((const struct request_row *)b)->name);
}

void request_waits_init(struct request_waits *waits)
{
    *waits = (struct request_waits){ .rows = SORTED(struct request_row, row_cmp) };
}

void request_waits_clear(struct request_waits *waits)
{
    sorted_each(struct request_row, row, &waits->rows)
        free(row->name);
    waits->changed |= waits->rows.count > 0;
    sorted_clear(&waits->rows);
}

void request_waits_done(struct request_waits *waits)
{
    request_waits_clear(waits);
    sorted_done(&waits->rows);
}

static void end(struct request_waits *waits, struct request_row *row)
{
    const struct request_row key = { .name = row->name };
    sorted_remove(&waits->rows, &key);
    free(key.name);
    waits->changed = true;
}

void request_waits_set(struct request_waits *waits, const char *name, enum request_wait wait)
{
    struct request_row key = { .name = (char *)name, .wait = wait };
    struct request_row *row = sorted_find(&waits->rows, &key);
    if (row && wait == WAIT_NOTHING) {
        end(waits, row);
    } else if (row) {
        waits->changed |= row->wait != wait;
        row->wait = wait;
    } else if (wait != WAIT_NOTHING) {
        key.name = strdup(name);
        if (key.name && sorted_put(&waits->rows, &key) == 0)
            waits->changed = true;
        else
            free(key.name);
    }
}

enum request_wait request_waits_of(const struct request_waits *waits, const char *name)
{
    const struct request_row key = { .name = (char *)name };
    const struct request_row *row = sorted_find(&waits->rows, &key);
    return row ? row->wait : WAIT_NOTHING;
}

void request_waits_faults(struct request_waits *waits, struct faults *faults)
{
    size_t told = 0, more = 0;
    sorted_each(struct request_row, row, &waits->rows) {
        const struct fault_type *type = request_wait_fault(row->wait);
        if (!type)
            continue;
        if (told++ >= FAULTS_MAX) {
            more++;
            continue;
        }
        AUTOFREE char *place = text_format("BlockRequest %s", row->name);
        fault_raise_type(faults, place, type, &(const struct fault_block_request_no_pool){ 0 });
    }
    if (more)
        fault_raise(faults, "BlockRequest", block_requests_waiting, .count = (int64_t)more);
    waits->changed = false;
}
