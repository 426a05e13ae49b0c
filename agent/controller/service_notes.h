/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of a part of the job of addresses about single Services, by namespace and name: a table of
 * notes, each a struct of that part whose first member is a service_note.
 *
 * Called by address_contest.c and address_lingers.c. The table owns its notes and their names; the
 * part frees anything else by `done`.
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

/* `done` frees what a note has beside its names; NULL: nothing. */
void service_notes_init(struct service_notes *notes, size_t size,
                        void (*done)(struct service_note *note));
void service_notes_clear(struct service_notes *notes);
void service_notes_done(struct service_notes *notes);

/* The note of a Service, or NULL. Borrowed until it is dropped. */
struct service_note *service_notes_find(const struct service_notes *notes,
                                        const struct object *object);
/* Likewise; if there is none, a zeroed one is added. NULL: no memory. */
struct service_note *service_notes_get(struct service_notes *notes, const struct object *object);
/* Removes a note and frees it. */
void service_notes_drop(struct service_notes *notes, struct service_note *note);

static inline size_t service_notes_count(const struct service_notes *notes)
{
    return notes->table.count;
}

static inline struct service_note *service_notes_at(const struct service_notes *notes, size_t index)
{
    return *(struct service_note **)sorted_at(&notes->table, index);
}

/* "Service NAMESPACE/NAME", as shown in faults. The caller frees it; NULL: no memory. */
char *service_note_place(const struct service_note *note);
