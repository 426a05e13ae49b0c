/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable array of any type, as three public members: items, count, capacity.
 *
 *     AUTOVEC VEC(struct route) routes = { 0 };
 *     r = vec_push(&routes, route);
 *     if (r < 0)
 *         return r;
 *     vec_each(struct route, it, &routes) ...
 *
 * AUTOVEC frees a local array when its scope ends; vec_done() frees one that is a struct's member.
 * Both free the items only. A list whose items own something has a destructor of its own, which
 * frees them and calls vec_done(); its locals carry CLEANUP(that destructor). See base/cleanup.h.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* `items` is the first member of every vector: vec_donep() relies on it. */
#define VEC(type)               \
    struct {                    \
        type *items;            \
        size_t count, capacity; \
    }

/* Makes room for `more` further items. Returns 0 or -ENOMEM; the contents stay in both cases. */
int vec_reserve_raw(void **items, size_t count, size_t *capacity, size_t size, size_t more);

/* Returns how many are left. */
size_t vec_drop_equal_raw(void *items, size_t count, size_t size,
                          int (*compare)(const void *a, const void *b));

#define vec_reserve(vec, more)                                                                     \
    vec_reserve_raw((void **)&(vec)->items, (vec)->count, &(vec)->capacity, sizeof(*(vec)->items), \
                    more)

/* Appends one value. Returns 0 or -ENOMEM. */
#define vec_push(vec, ...)                                \
    ({                                                    \
        int push_r_ = vec_reserve(vec, 1);                \
        if (push_r_ == 0)                                 \
            (vec)->items[(vec)->count++] = (__VA_ARGS__); \
        push_r_;                                          \
    })

/*
 * Appends copies of all that another array of the same items holds. Returns 0, or -ENOMEM with
 * nothing appended.
 */
#define vec_append(vec, more)                                  \
    ({                                                         \
        int append_r_ = vec_reserve(vec, (more)->count);       \
        if (append_r_ == 0 && (more)->count)                   \
            memcpy((vec)->items + (vec)->count, (more)->items, \
                   (more)->count * sizeof(*(more)->items));    \
        (vec)->count += append_r_ == 0 ? (more)->count : 0;    \
        append_r_;                                             \
    })

/* Empties the array and keeps its memory. */
#define vec_clear(vec) ((vec)->count = 0)

/* Frees the memory; the array is empty and usable afterwards. */
#define vec_done(vec)                       \
    ({                                      \
        free((vec)->items);                 \
        (vec)->items = NULL;                \
        (vec)->count = (vec)->capacity = 0; \
    })

/* The cleanup handler of every VEC(type). */
static inline void vec_donep(void *vec)
{
    void *items;
    memcpy(&items, vec, sizeof(items));
    free(items);
}

#define AUTOVEC CLEANUP(vec_donep)

/*
 * Frees what `to` has and gives it what `from` has, which is empty afterwards. The two may be of
 * different VEC() types with the same items; of one type, TAKE_STRUCT(from) is a value as well.
 */
#define vec_move(to, from)                    \
    ({                                        \
        free((to)->items);                    \
        (to)->items = (from)->items;          \
        (to)->count = (from)->count;          \
        (to)->capacity = (from)->capacity;    \
        (from)->items = NULL;                 \
        (from)->count = (from)->capacity = 0; \
    })

#define vec_each(type, it, vec)                                                        \
    for (__typeof__(type) *it = (vec)->items, *end_##it = it ? it + (vec)->count : it; \
         it < end_##it; it++)

/* Of neighbours that compare equal the first stays. */
#define vec_drop_equal(vec, cmp) \
    ((vec)->count = vec_drop_equal_raw((vec)->items, (vec)->count, sizeof(*(vec)->items), cmp))

/* The item of a sorted array that compares equal to `*key`, or NULL. */
#define vec_find(vec, key, cmp)                                                             \
    ((__typeof__((vec)->items))((vec)->count > 0 ? bsearch(key, (vec)->items, (vec)->count, \
                                                           sizeof(*(vec)->items), cmp)      \
                                                 : NULL))

#define vec_sort(vec, cmp)                                                 \
    ({                                                                     \
        if ((vec)->count > 1)                                              \
            qsort((vec)->items, (vec)->count, sizeof(*(vec)->items), cmp); \
    })
