// SPDX-License-Identifier: Apache-2.0
/*
 * A binary heap in an array, each item of which knows its place, so that it can be taken out from
 * the middle. Used by work_queue.c, whose keys must be able to wait without memory being asked for.
 */
#include "loop/due_heap.h"

#include <errno.h>
#include <stdbool.h>

int due_heap_reserve(struct due_heap *heap, size_t count)
{
    size_t have = heap->list.count;
    return count > have ? vec_reserve(&heap->list, count - have) : 0;
}

static bool is_before(const struct due *a, const struct due *b)
{
    return a->due_ms < b->due_ms || (a->due_ms == b->due_ms && a->order < b->order);
}

static void set(struct due_heap *heap, size_t place, struct due *due)
{
    heap->list.items[place] = due;
    due->place = place;
}

static void rise(struct due_heap *heap, struct due *due)
{
    size_t place = due->place;
    while (place > 0 && is_before(due, heap->list.items[(place - 1) / 2])) {
        set(heap, place, heap->list.items[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    set(heap, place, due);
}

static void sink(struct due_heap *heap, struct due *due)
{
    struct due **items = heap->list.items;
    size_t place = due->place;
    for (size_t below; (below = 2 * place + 1) < heap->list.count; place = below) {
        if (below + 1 < heap->list.count && is_before(items[below + 1], items[below]))
            below++;
        if (!is_before(items[below], due))
            break;
        set(heap, place, items[below]);
    }
    set(heap, place, due);
}

void due_heap_put(struct due_heap *heap, struct due *due)
{
    due->place = heap->list.count;
    heap->list.items[heap->list.count++] = due;
    rise(heap, due);
}

void due_heap_remove(struct due_heap *heap, struct due *due)
{
    struct due *last = heap->list.items[--heap->list.count];
    if (last == due)
        return;
    set(heap, due->place, last);
    rise(heap, last);
    sink(heap, last);
}

struct due *due_heap_first(const struct due_heap *heap)
{
    return heap->list.count ? heap->list.items[0] : NULL;
}

void due_heap_done(struct due_heap *heap)
{
    vec_done(&heap->list);
}
