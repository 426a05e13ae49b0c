/* SPDX-License-Identifier: Apache-2.0 */
/* What waits for a time, the first one first: a binary heap. Internal to loop/. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* A member of what waits. */
struct due {
    int64_t due_ms;
    uint64_t order; /* of those that are due at once */
    size_t place;   /* in the heap */
};

struct due_heap {
    VEC(struct due *) list;
};

/* Makes room for `count` items in all. Returns 0 or -ENOMEM. */
int due_heap_reserve(struct due_heap *heap, size_t count);

/* Puts one in, for which there is room; takes one out that is in. */
void due_heap_put(struct due_heap *heap, struct due *due);
void due_heap_remove(struct due_heap *heap, struct due *due);

/* The first one, or NULL. */
struct due *due_heap_first(const struct due_heap *heap);

void due_heap_done(struct due_heap *heap);
