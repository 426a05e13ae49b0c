/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail on demand, for tests linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=reallocarray. Include it in one file only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);

static int allocations_left = -1; /* that succeed from now on; -1: all */
static unsigned allocations;      /* asked for; the test sets it to 0 */

static bool allocation_fails(void)
{
    allocations++;
    if (allocations_left > 0)
        allocations_left--;
    else if (allocations_left == 0)
        return true;
    return false;
}

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_reallocarray(memory, count, size);
}
