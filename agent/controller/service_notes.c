// SPDX-License-Identifier: Apache-2.0
/* See service_notes.h. A note does not move while it is in the table, which stores pointers. */
#include "controller/service_notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int note_cmp(const void *a, const void *b)
{
    const struct service_note *const *left = a, *const *right = b;
    int r = strcmp((*left)->namespace, (*right)->namespace);
    return r ? r : strcmp((*left)->name, (*right)->name);
}

static void note_free(struct service_note *note)
{
    if (!note)
        return;
    free(note->namespace);
    free(note->name);
    free(note);
}
DEFINE_CLEANUP(struct service_note *, note_free);

static void forget(const struct service_notes *notes, struct service_note *note)
{
    if (notes->done)
        notes->done(note);
    note_free(note);
}

void service_notes_init(struct service_notes *notes, size_t size,
                        void (*done)(struct service_note *note))
{
    *notes = (struct service_notes){ .table = SORTED(struct service_note *, note_cmp),
                                     .size = size,
                                     .done = done };
}

void service_notes_clear(struct service_notes *notes)
{
    sorted_each(struct service_note *, note, &notes->table)
        forget(notes, *note);
    sorted_clear(&notes->table);
}

void service_notes_done(struct service_notes *notes)
{
    service_notes_clear(notes);
    sorted_done(&notes->table);
}

struct service_note *service_notes_find(const struct service_notes *notes,
                                        const struct object *object)
{
    const struct service_note wanted = { .namespace = (char *)object->namespace,
                                         .name = (char *)object->name },
                              *pointer = &wanted;
    struct service_note *const *found = sorted_find(&notes->table, &pointer);
    return found ? *found : NULL;
}

struct service_note *service_notes_get(struct service_notes *notes, const struct object *object)
{
    struct service_note *found = service_notes_find(notes, object);
    if (found)
        return found;
    CLEANUP(note_freep) struct service_note *note = calloc(1, notes->size);
    if (!note)
        return NULL;
    note->namespace = strdup(object->namespace);
    note->name = strdup(object->name);
    if (!note->namespace || !note->name || sorted_put(&notes->table, &note) < 0)
        return NULL;
    return TAKE_PTR(note);
}

void service_notes_drop(struct service_notes *notes, struct service_note *note)
{
    sorted_remove(&notes->table, &note);
    forget(notes, note);
}

char *service_note_place(const struct service_note *note)
{
    return text_format("Service %s/%s", note->namespace, note->name);
}
