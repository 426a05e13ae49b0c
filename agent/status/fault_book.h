/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current faults of all subsystems.
 *
 * Producers report the faults of a group (a file, an object, a table), which replace the group's
 * previous faults; a fault that is still present keeps the time since when it holds. An empty list
 * clears the group. A logger registers a watcher to log each fault once.
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
    const struct fault_type *type; /* NULL: not in the catalogue yet */
    const char *key; /* the key arguments: with type and place they identify the fault; "" */
    const char *place, *message, *remedy; /* remedy may be NULL */
    int64_t since_wall_ms;
};

struct fault_book *fault_book_new(void);
void fault_book_free(struct fault_book *book);
DEFINE_CLEANUP(struct fault_book *, fault_book_free);

enum fault_change { FAULT_RAISED, FAULT_CLEARED, FAULT_CHANGED };

/*
 * Called after a replacement, when the book already has the new faults: for each fault that is
 * gone, then for each one that is new or whose message has changed. The fault is borrowed during
 * the call, which must not change the book. No call is made when the book is freed.
 */
typedef void (*fault_watcher)(enum fault_change change, const struct known_fault *fault,
                              void *context);

/* Registers the watcher, at most one; NULL removes it. */
void fault_book_watch(struct fault_book *book, fault_watcher watcher, void *context);

/*
 * Replaces the faults of (subsystem, group) by `faults`, which may be NULL or empty; everything is
 * copied. Two faults of the catalogue are the same if subsystem, group, place, code and key
 * arguments are equal, whatever their messages; other faults, if subsystem, group, place and
 * message are equal. Of several that are equal in every field one is kept. An incomplete list adds
 * a fault that reports this. Returns the number of faults that are new, or -ENOMEM with the book
 * unchanged.
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
 * else NULL. Rows with the same subject are about the same object, so their places must be equal; a
 * cause with another subject applies to every place of its effect. Borrowed likewise.
 */
const struct known_fault *fault_book_cause(const struct fault_book *book,
                                           const struct known_fault *fault);

/* The severity of a fault; one that is not in the catalogue yet is degraded. */
enum fault_severity known_fault_severity(const struct known_fault *fault);
/* The highest severity of all current faults; notice where there is none. */
enum fault_severity fault_book_worst(const struct fault_book *book);
/* Its code, or "". */
const char *known_fault_code(const struct known_fault *fault);
