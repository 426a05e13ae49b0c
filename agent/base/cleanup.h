/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ownership that a reader can check from one function body.
 *
 * Every owning local carries a cleanup attribute and an initial value; every escape goes through a
 * TAKE_ macro. A function therefore returns where it fails; `goto` for cleaning up, and a chain of
 * `if (r == 0)` that carries a failure down to the last line, are never needed.
 *
 *     local                                declared as                      escapes by
 *     a pointer from malloc()              AUTOFREE char *name = NULL       TAKE_PTR
 *     the same, with a token in it         AUTOSECRET char *name = NULL     TAKE_PTR
 *     an object that x_free() ends         CLEANUP(x_freep) struct x *x     TAKE_PTR
 *     a descriptor                         AUTOCLOSE int fd = -1            TAKE_FD
 *     a vector of plain values             AUTOVEC ip_list ips = { 0 }      TAKE_STRUCT, vec_move()
 *     a sorted array                       AUTOSORTED struct sorted rows    TAKE_STRUCT
 *     any other value that x_done() ends   CLEANUP(x_done) struct x x       TAKE_STRUCT
 *
 * x_freep() comes from DEFINE_CLEANUP beside the type. A value needs no such helper: x_done() takes
 * the value's address, which is what the attribute passes. It follows that each x_done() must bear
 * a value of zero bytes, for that is what TAKE_STRUCT leaves behind.
 */
#pragma once

#include <stdlib.h>
#include <string.h>
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

/*
 * The struct's value; the variable becomes zero bytes, so its cleanup does nothing. What it held
 * before is the taker's: `*ret_ips = TAKE_STRUCT(ips)` frees nothing that stood in *ret_ips.
 */
#define TAKE_STRUCT(value)                  \
    ({                                      \
        __typeof__(value) taken_ = (value); \
        memset(&(value), 0, sizeof(value)); \
        taken_;                             \
    })

static inline void freep(void *ptr)
{
    free(*(void **)ptr);
}

static inline void wipep(char **secret)
{
    if (*secret)
        explicit_bzero(*secret, strlen(*secret));
    free(*secret);
}

static inline void closep(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

#define AUTOFREE   CLEANUP(freep)
#define AUTOSECRET CLEANUP(wipep)
#define AUTOCLOSE  CLEANUP(closep)
