// SPDX-License-Identifier: Apache-2.0
/*
 * Refused writes; see refusals.h. Called by the controller's jobs of addresses and of egress. If a
 * role lacks a verb, the API may refuse the writes of ten thousand Services: a hundred faults are
 * enough for an operator.
 */
#include "status/refusals.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/api.h"
#include "faults/raise.h"

enum { FAULTS_MAX = 100 };

static int refusal_cmp(const void *a, const void *b)
{
    return strcmp(((const struct refusal *)a)->place, ((const struct refusal *)b)->place);
}

static void refusal_done(struct refusal *refusal)
{
    free(refusal->place);
    free(refusal->message);
    free(refusal->remedy);
}

void refusals_init(struct refusals *refusals)
{
    *refusals = (struct refusals){ .rows = SORTED(struct refusal, refusal_cmp) };
}

void refusals_clear(struct refusals *refusals)
{
    sorted_each(struct refusal, row, &refusals->rows)
        refusal_done(row);
    refusals->changed |= refusals->rows.count > 0;
    sorted_clear(&refusals->rows);
}

void refusals_done(struct refusals *refusals)
{
    refusals_clear(refusals);
    sorted_done(&refusals->rows);
}

const struct refusal *refusals_find(const struct refusals *refusals, const char *place)
{
    const struct refusal key = { .place = (char *)place };
    return sorted_find(&refusals->rows, &key);
}

bool refusals_note(struct refusals *refusals, const char *place, const char *message,
                   const char *remedy)
{
    const struct refusal *known = refusals_find(refusals, place);
    if (known && strcmp(known->message, message) == 0)
        return false;
    CLEANUP(refusal_done)
    struct refusal row = {
        .place = strdup(place),
        .message = strdup(message),
        .remedy = remedy ? strdup(remedy) : NULL,
    };
    if (!row.place || !row.message || (remedy && !row.remedy))
        return false;
    refusals_end(refusals, place);
    if (sorted_put(&refusals->rows, &row) < 0)
        return false;
    row = (struct refusal){ 0 }; /* the table owns its strings now */
    return refusals->changed = true;
}

void refusals_end(struct refusals *refusals, const char *place)
{
    const struct refusal *row = refusals_find(refusals, place);
    if (!row)
        return;
    struct refusal gone = *row;
    sorted_remove(&refusals->rows, &gone);
    refusal_done(&gone);
    refusals->changed = true;
}

void refusals_faults(struct refusals *refusals, struct faults *faults)
{
    size_t told = 0;
    sorted_each(const struct refusal, row, &refusals->rows) {
        if (told++ < FAULTS_MAX)
            fault_raise(faults, row->place, api_write_refused, .error = row->message,
                        .remedy = row->remedy);
    }
    if (told > FAULTS_MAX)
        fault_raise(faults, "Kubernetes API", api_writes_untold,
                    .count = (int64_t)(told - FAULTS_MAX));
    refusals->changed = false;
}
