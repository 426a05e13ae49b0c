/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The faults that hold now, of all subsystems.
 *
 * Producers say what holds for a group (a file, an object, a table) and replace what they said of
 * it before; a fault that is still there keeps the time since when it holds. An empty list clears.
 * Who wants to log each fault once watches the book.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"

struct fault_book;

struct known_fault {
    const char *subsystem; /* "manifests", "routes", "config", ... */
    const char *group;
    const char *place, *message, *remedy; /* remedy may be NULL */
    int64_t since_wall_ms;
};

struct fault_book *fault_book_new(void);
void fault_book_free(struct fault_book *book);
DEFINE_CLEANUP(struct fault_book *, fault_book_free);

enum fault_change { FAULT_RAISED, FAULT_CLEARED };

/*
 * Called after a replacement, when the book already says what holds now: for each fault that is
 * gone, then for each that is new. The fault is borrowed during the call, which must not change the
 * book. Freeing the book clears nothing.
 */
typedef void (*fault_watcher)(enum fault_change change, const struct known_fault *fault,
                              void *context);

/* One watcher at most; NULL ends it. */
void fault_book_watch(struct fault_book *book, fault_watcher watcher, void *context);

/*
 * Replaces the faults of (subsystem, group) by `faults`, which may be NULL or empty; everything is
 * copied. Faults are the same if subsystem, group, place and message are; of several in one list
 * one is kept. An incomplete list adds a fault that says so. Returns the number of faults that are
 * new, or -ENOMEM with the book unchanged.
 */
int fault_book_replace(struct fault_book *book, const char *subsystem, const char *group,
                       const struct faults *faults, int64_t wall_ms);

/* All faults in order of subsystem, group, place, message. Borrowed until the next change. */
size_t fault_book_count(const struct fault_book *book);
const struct known_fault *fault_book_at(const struct fault_book *book, size_t index);
/* The first fault of a group, or NULL. Borrowed likewise. */
const struct known_fault *fault_book_find(const struct fault_book *book, const char *subsystem,
                                          const char *group);
