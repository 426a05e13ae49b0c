// SPDX-License-Identifier: Apache-2.0
/*
 * The rate at which a list shrinks; see export_shrink.h. Kept by the controller's job for
 * documents, once for the documents and once for the list of nodes.
 *
 * Only lengths that no later one reaches are kept: a later and longer list is also within the
 * hold-down for longer. They are in decreasing order, so that their number is at most the greatest
 * length, and the first that is recent enough is the greatest.
 */
#include "plan/export/export_shrink.h"

size_t export_shrink_longest(const struct export_shrink *shrink, int64_t hold_ms, int64_t now_ms)
{
    vec_each(const struct export_length, length, &shrink->lengths) {
        if (now_ms - length->at_ms < hold_ms)
            return length->count;
    }
    return 0;
}

bool export_shrink_is_over(const struct export_shrink *shrink, int64_t hold_ms, int64_t now_ms)
{
    return shrink->since_ms && now_ms - shrink->since_ms >= hold_ms;
}

static int note_length(struct export_shrink *shrink, size_t count, int64_t now_ms)
{
    size_t *known = &shrink->lengths.count;
    while (*known && shrink->lengths.items[*known - 1].count <= count)
        (*known)--;
    return vec_push(&shrink->lengths, (struct export_length){ count, now_ms });
}

int export_shrink_note(struct export_shrink *shrink, size_t length, size_t held, bool let_go,
                       int64_t now_ms)
{
    shrink->held = held;
    if (held == 0)
        shrink->since_ms = 0;
    else if (shrink->since_ms == 0)
        shrink->since_ms = now_ms;
    if (let_go) {
        vec_clear(&shrink->lengths);
        return 0;
    }
    return note_length(shrink, length, now_ms);
}

int64_t export_shrink_until(const struct export_shrink *shrink, int64_t hold_ms)
{
    return shrink->since_ms ? shrink->since_ms + hold_ms : INT64_MAX;
}

void export_shrink_forget(struct export_shrink *shrink)
{
    vec_done(&shrink->lengths);
    *shrink = (struct export_shrink){ 0 };
}
