// SPDX-License-Identifier: Apache-2.0
/*
 * How fast a list shrinks; see export_shrink.h. Kept by the controller's job for documents, once
 * for the documents and once for the list of nodes.
 *
 * Of all lengths only those matter that no later one reaches: a longer list that comes later is
 * also within the hold-down for longer. They are ever shorter, so that there are no more of them
 * than the longest has elements, and the first that is young enough is the longest.
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
