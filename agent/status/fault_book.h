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
#include "faults/fault_type.h"

struct fault_book;

struct known_fault {
    const char *subsystem; /* "manifests", "routes", "config", ... */
    const char *group;
    const struct fault_type *type;        /* NULL: not in the catalogue yet */
    const char *key;                      /* what beside type and place makes it this fault; "" */
    const char *place, *message, *remedy; /* remedy may be NULL */
    int64_t since_wall_ms;
};

struct fault_book *fault_book_new(void);
void fault_book_free(struct fault_book *book);
DEFINE_CLEANUP(struct fault_book *, fault_book_free);

enum fault_change { FAULT_RAISED, FAULT_CLEARED, FAULT_CHANGED };

/*
 * Called after a replacement, when the book already says what holds now: for each fault that is
 * gone, then for each that is new or whose message is another one now. The fault is borrowed during
 * the call, which must not change the book. Freeing the book clears nothing.
 */
typedef void (*fault_watcher)(enum fault_change change, const struct known_fault *fault,
                              void *context);

/* One watcher at most; NULL ends it. */
void fault_book_watch(struct fault_book *book, fault_watcher watcher, void *context);

/*
 * Replaces the faults of (subsystem, group) by `faults`, which may be NULL or empty; everything is
 * copied. Faults of the catalogue are the same if subsystem, group, place, code and key arguments
 * are, whatever their words say now; others, if subsystem, group, place and message are. Of several
 * that are equal in every word one is kept. An incomplete list adds a fault that says so. Returns
 * the number of faults that are new, or -ENOMEM with the book unchanged.
 */
int fault_book_replace(struct fault_book *book, const char *subsystem, const char *group,
                       const struct faults *faults, int64_t wall_ms);

/* All faults in order of subsystem, group, place, code, key, message. Borrowed until the next
 * change. */
size_t fault_book_count(const struct fault_book *book);
const struct known_fault *fault_book_at(const struct fault_book *book, size_t index);
/* The first fault of a group, or NULL. Borrowed likewise. */
const struct known_fault *fault_book_find(const struct fault_book *book, const char *subsystem,
                                          const char *group);

/*
 * The fault from which this one of the book follows, by their rows of the catalogue, if both hold;
 * else NULL. Rows with one subject speak of the same thing, so their places must be equal; a cause
 * with another subject is of all that its effect may be of. Borrowed likewise.
 */
const struct known_fault *fault_book_cause(const struct fault_book *book,
                                           const struct known_fault *fault);

/* What a fault weighs; one that is not in the catalogue yet is degraded. */
enum fault_severity known_fault_severity(const struct known_fault *fault);
/* The worst of all that hold; a notice where there is none. */
enum fault_severity fault_book_worst(const struct fault_book *book);
/* Its code, or "". */
const char *known_fault_code(const struct known_fault *fault);
