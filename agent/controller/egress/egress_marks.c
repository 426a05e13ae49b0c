// SPDX-License-Identifier: Apache-2.0
/* A sorted table of marks; see egress_marks.h. It has one for each object that was written. */
#include "controller/egress/egress_marks.h"

#include <stdlib.h>
#include <string.h>

struct row {
    char *key;
    struct workload_mark mark;
};

static int row_cmp(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

static struct row *find(const struct sorted *marks, const char *key)
{
    const struct row wanted = { .key = (char *)key };
    return sorted_find(marks, &wanted);
}

void egress_marks_init(struct sorted *marks)
{
    *marks = (struct sorted)SORTED(struct row, row_cmp);
}

void egress_marks_clear(struct sorted *marks)
{
    sorted_each(struct row, row, marks)
        free(row->key);
    sorted_clear(marks);
}

void egress_marks_done(struct sorted *marks)
{
    egress_marks_clear(marks);
    sorted_done(marks);
}

const struct workload_mark *egress_mark(const struct sorted *marks, const char *key)
{
    static const struct workload_mark none;
    const struct row *row = find(marks, key);
    return row ? &row->mark : &none;
}

void egress_mark_set(struct sorted *marks, const char *key, const struct workload_mark *mark)
{
    struct row *known = find(marks, key);
    if (known) {
        known->mark = *mark;
        return;
    }
    const struct row row = { strdup(key), *mark };
    if (!row.key || sorted_put(marks, &row) < 0)
        free(row.key);
}

void egress_mark_drop(struct sorted *marks, const char *key)
{
    const struct row *known = find(marks, key);
    if (!known)
        return;
    struct row gone = *known;
    sorted_remove(marks, &gone);
    free(gone.key);
}

void egress_marks_sweep(struct sorted *marks, bool (*is_stale)(void *context, const char *key),
                        void *context)
{
    for (size_t i = marks->count; i-- > 0;) {
        const struct row *row = sorted_at(marks, i);
        if (is_stale(context, row->key))
            egress_mark_drop(marks, row->key);
    }
}
