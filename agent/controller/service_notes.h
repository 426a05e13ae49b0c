/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a part of the job of addresses remembers of single Services, by namespace and name: a table
 * of notes, each of which is the part's own struct that begins with a service_note.
 *
 * Called by address_contest.c and address_lingers.c. The table owns its notes and their names; what
 * else a note owns its part frees, by `done`.
 */
#pragma once

#include "base/sorted.h"
#include "model/object.h"

struct service_note {
    char *namespace, *name;
};

struct service_notes {
    struct sorted table; /* struct service_note * */
    size_t size;         /* of the part's struct */
    void (*done)(struct service_note *note);
};

/* `done` frees what is in a note beside its names; NULL: nothing is. */
void service_notes_init(struct service_notes *notes, size_t size,
                        void (*done)(struct service_note *note));
void service_notes_clear(struct service_notes *notes);
void service_notes_done(struct service_notes *notes);

/* The note of a Service, or NULL. Borrowed until it is dropped. */
struct service_note *service_notes_find(const struct service_notes *notes,
                                        const struct object *object);
/* Likewise; where there is none, one of zeros is made. NULL: no memory. */
struct service_note *service_notes_get(struct service_notes *notes, const struct object *object);
/* Takes a note out, and frees it. */
void service_notes_drop(struct service_notes *notes, struct service_note *note);

static inline size_t service_notes_count(const struct service_notes *notes)
{
    return notes->table.count;
}

static inline struct service_note *service_notes_at(const struct service_notes *notes, size_t index)
{
    return *(struct service_note **)sorted_at(&notes->table, index);
}

/* "Service NAMESPACE/NAME", as faults have it. The caller frees it; NULL: no memory. */
char *service_note_place(const struct service_note *note);
