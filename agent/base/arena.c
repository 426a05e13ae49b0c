// SPDX-License-Identifier: Apache-2.0
/* A bump allocator over a chain of chunks; see arena.h. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

enum {
    ALIGNMENT = _Alignof(max_align_t),
    CHUNK_MAX = 64 * 1024, /* growth stops here, so that the last chunk wastes little */
};

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(max_align_t) char data[];
};

struct arena {
    struct chunk *chunks; /* newest first */
};

static struct chunk *chunk_new(size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    struct chunk *chunk = malloc(sizeof(*chunk) + size);
    if (chunk)
        *chunk = (struct chunk){ .size = size };
    return chunk;
}

struct arena *arena_new(size_t size)
{
    struct arena *arena = malloc(sizeof(*arena));
    if (!arena)
        return NULL;
    arena->chunks = chunk_new(MAX(size, (size_t)64));
    if (!arena->chunks) {
        free(arena);
        return NULL;
    }
    return arena;
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->chunks; chunk;) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(arena);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

    struct chunk *chunk = arena->chunks;
    if (size > chunk->size - chunk->used) {
        size_t grown = MIN(chunk->size * 2, (size_t)CHUNK_MAX);
        chunk = chunk_new(MAX(grown, size));
        if (!chunk)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += size;
    return memset(memory, 0, size);
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return arena_alloc(arena, bytes);
}

char *arena_strndup(struct arena *arena, const char *bytes, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = arena_alloc(arena, length + 1);
    if (copy && length)
        memcpy(copy, bytes, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *string)
{
    return arena_strndup(arena, string, strlen(string));
}
