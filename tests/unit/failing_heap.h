/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap that fails on demand, for all of a test program: libraries included, which
 * failing_malloc.h does not reach. The program's own malloc() comes before every other; the real
 * one is the C library's or, with sanitizers, theirs. Include it in one file only.
 *
 * Copies of strings are made here as well, since the sanitizer's strdup() asks no other malloc().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#define HEAP(function) __interceptor_##function
#else
#define HEAP(function) __libc_##function
#endif

void *HEAP(malloc)(size_t size);
void *HEAP(calloc)(size_t count, size_t size);
void *HEAP(realloc)(void *memory, size_t size);

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void *reallocarray(void *memory, size_t count, size_t size);
char *strdup(const char *string);
char *strndup(const char *string, size_t length);

static int heap_left = -1;  /* allocations that succeed from now on; -1: all */
static unsigned heap_tries; /* of the last with_heap() */

static bool heap_fails(void)
{
    heap_tries++;
    if (heap_left > 0)
        heap_left--;
    else if (heap_left == 0)
        return true;
    return false;
}

void *malloc(size_t size)
{
    return heap_fails() ? NULL : HEAP(malloc)(size);
}

void *calloc(size_t count, size_t size)
{
    return heap_fails() ? NULL : HEAP(calloc)(count, size);
}

void *realloc(void *memory, size_t size)
{
    return heap_fails() ? NULL : HEAP(realloc)(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    if (size > 0 && count > SIZE_MAX / size)
        return NULL;
    return realloc(memory, count * size);
}

char *strndup(const char *string, size_t length)
{
    size_t size = strnlen(string, length);
    char *copy = malloc(size + 1);
    if (!copy)
        return NULL;
    copy[size] = '\0';
    return memcpy(copy, string, size);
}

char *strdup(const char *string)
{
    return strndup(string, strlen(string));
}

/*
 * Evaluates an expression while only the first `n` allocations succeed; `heap_missed` tells
 * afterwards whether it asked for more.
 */
static bool heap_missed;

#define with_heap(n, ...)                                \
    ({                                                   \
        heap_tries = 0;                                  \
        heap_left = (n);                                 \
        __typeof__(__VA_ARGS__) heap_r_ = (__VA_ARGS__); \
        heap_left = -1;                                  \
        heap_missed = heap_tries > (unsigned)(n);        \
        heap_r_;                                         \
    })
