/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ownership that a reader can check from one function body.
 *
 * Every owning local carries CLEANUP(x_freep) and an initial value; every escape goes through
 * TAKE_PTR or TAKE_FD. `goto` for cleaning up is therefore never needed.
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(func) __attribute__((cleanup(func)))

/* Defines func##p, the cleanup handler of a destructor that takes the object's pointer. */
#define DEFINE_CLEANUP(type, func)           \
    static inline void func##p(type *object) \
    {                                        \
        if (*object)                         \
            func(*object);                   \
    }                                        \
    struct cleanup_needs_a_semicolon_##func

/* The pointer's value; the variable becomes NULL, so its cleanup does nothing. */
#define TAKE_PTR(ptr)                   \
    ({                                  \
        __typeof__(ptr) taken_ = (ptr); \
        (ptr) = NULL;                   \
        taken_;                         \
    })

/* The descriptor's value; the variable becomes -1. */
#define TAKE_FD(fd)        \
    ({                     \
        int taken_ = (fd); \
        (fd) = -1;         \
        taken_;            \
    })

static inline void freep(void *ptr)
{
    free(*(void **)ptr);
}

static inline void closep(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

#define AUTOFREE  CLEANUP(freep)
#define AUTOCLOSE CLEANUP(closep)
