/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The faults that hold now, of all subsystems.
 *
 * Producers say what holds for a group (a file, an object, a table) and replace what they said of
 * it before; a fault that is still there keeps the time since when it holds. An empty list clears.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"

struct fault_book;

struct held_fault {
    const char *subsystem; /* "manifests", "routes", "config", ... */
    const char *group;
    const char *place, *message, *remedy; /* remedy may be NULL */
    int64_t since_wall_ms;
};

struct fault_book *fault_book_new(void);
void fault_book_free(struct fault_book *book);
DEFINE_CLEANUP(struct fault_book *, fault_book_free);

/*
 * Replaces the faults of (subsystem, group) by `faults`, which may be NULL or empty. `subsystem`
 * and `group` are copied. Returns the number of faults that are new (to be logged: they come last
 * in fault_book_at() order of `since`), or -ENOMEM with the book unchanged.
 */
int fault_book_replace(struct fault_book *book, const char *subsystem, const char *group,
                       const struct faults *faults, int64_t wall_ms);

/* All faults in order of subsystem, group, place, message. Borrowed until the next change. */
size_t fault_book_count(const struct fault_book *book);
const struct held_fault *fault_book_at(const struct fault_book *book, size_t index);
