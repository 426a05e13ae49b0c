/* SPDX-License-Identifier: Apache-2.0 */
/* The few macros that every room needs. */
#pragma once

#include <stddef.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define MIN(a, b)                          \
    ({                                     \
        __typeof__(a) min_a_ = (a);        \
        __typeof__(b) min_b_ = (b);        \
        min_a_ < min_b_ ? min_a_ : min_b_; \
    })
#define MAX(a, b)                          \
    ({                                     \
        __typeof__(a) max_a_ = (a);        \
        __typeof__(b) max_b_ = (b);        \
        max_a_ > max_b_ ? max_a_ : max_b_; \
    })

/* -1, 0 or 1: the order of two scalars. */
#define CMP(a, b)                              \
    ({                                         \
        __typeof__(a) cmp_a_ = (a);            \
        __typeof__(b) cmp_b_ = (b);            \
        (cmp_a_ > cmp_b_) - (cmp_a_ < cmp_b_); \
    })

/* The struct of which ptr is the member. */
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define PRINTF_LIKE(format_arg, first_arg) __attribute__((format(printf, format_arg, first_arg)))
