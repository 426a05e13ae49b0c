// SPDX-License-Identifier: Apache-2.0
/*
 * Services that are deleted and held by a finalizer: they keep their addresses, and the owner of
 * the finalizer may be gone for good, as a load balancer that was replaced. Called by
 * address_job.c. A running controller removes its finalizer within seconds.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "controller/pools/address_inside.h"
#include "faults/controller.h"
#include "faults/raise.h"

enum { PATIENCE_MS = 10 * SECOND_MS, TOLD_MAX = 16 };

struct linger {
    struct service_note note; /* the first */
    int64_t due_ms;           /* monotonic; when it is reported */
};

static struct linger *to_linger(struct service_note *note)
{
    return (struct linger *)note;
}

void lingers_init(struct service_notes *notes)
{
    service_notes_init(notes, sizeof(struct linger), NULL);
}

static int begin(struct service_notes *notes, const struct object *object)
{
    struct linger *linger = to_linger(service_notes_get(notes, object));
    if (!linger)
        return -ENOMEM;
    if (!linger->due_ms)
        linger->due_ms = clock_mono_ms() + PATIENCE_MS;
    return 0;
}

int lingers_note(struct service_notes *notes, const struct change *change)
{
    const struct object *object = change->after ? change->after : change->before;
    if (object->kind != KIND_SERVICE)
        return 0;
    if (change->after && object->deleting && to_service(object)->assigned)
        return begin(notes, object);
    struct service_note *over = service_notes_find(notes, object);
    if (over)
        service_notes_drop(notes, over);
    return 0;
}

static void tell(const struct service_note *note, const struct object *object,
                 struct faults *faults)
{
    const struct object_ties *ties = object->ties;
    AUTOFREE char *place = service_note_place(note);
    fault_raise(faults, place, service_deletion_held,
                .finalizer = ties && ties->finalizer_count ? ties->finalizers[0] : "(unknown)",
                .namespace = note->namespace, .name = note->name);
}

void address_lingers_tell(struct address_job *job, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    for (size_t i = 0; i < service_notes_count(&job->lingers); i++) {
        const struct linger *linger = to_linger(service_notes_at(&job->lingers, i));
        const struct object *object = store_get(job->job.board->store, KIND_SERVICE,
                                                linger->note.namespace, linger->note.name);
        if (object && now_ms >= linger->due_ms && faults.list.count < TOLD_MAX)
            tell(&linger->note, object, &faults);
    }
    (void)fault_book_replace(job->job.board->faults, "addresses", "lingers", &faults,
                             clock_wall_ms());
}

int64_t lingers_next_ms(const struct service_notes *notes, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    for (size_t i = 0; i < service_notes_count(notes); i++) {
        const int64_t due_ms = to_linger(service_notes_at(notes, i))->due_ms;
        if (due_ms > now_ms)
            next_ms = MIN(next_ms, due_ms);
    }
    return next_ms;
}
