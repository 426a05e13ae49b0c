/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back all at once: the parts of one parsed document, or of one object.
 * Allocations are aligned for any type and zeroed.
 */
#pragma once

#include <stddef.h>

struct arena;

/* A new arena whose first chunk holds `size` bytes (later chunks are larger). NULL: no memory. */
struct arena *arena_new(size_t size);
void arena_free(struct arena *arena);

/* `size` zeroed bytes that live as long as the arena. NULL: no memory. */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_alloc_array(struct arena *arena, size_t count, size_t size);

/* A copy of the string, or of its first `length` bytes with a NUL after them. NULL: no memory. */
char *arena_strdup(struct arena *arena, const char *string);
char *arena_strndup(struct arena *arena, const char *bytes, size_t length);

#define AUTOARENA CLEANUP(arena_freep)
static inline void arena_freep(struct arena **arena)
{
    arena_free(*arena);
}
