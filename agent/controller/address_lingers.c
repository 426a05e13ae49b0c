// SPDX-License-Identifier: Apache-2.0
/*
 * Services that somebody has deleted, and that a finalizer keeps: they hold their addresses, and
 * whoever owned the finalizer may be gone for good, as a balancer that was replaced. Called by
 * address_job.c. A controller that is alive takes its finalizer off within seconds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "controller/address_inside.h"

enum { PATIENCE_MS = 10 * SECOND_MS, TOLD_MAX = 16 };

struct linger {
    char *namespace, *name;
    int64_t due_ms; /* monotonic; then it is told */
};

static int linger_cmp(const void *a, const void *b)
{
    const struct linger *const *left = a, *const *right = b;
    int r = strcmp((*left)->namespace, (*right)->namespace);
    return r ? r : strcmp((*left)->name, (*right)->name);
}

static void linger_free(struct linger *linger)
{
    if (!linger)
        return;
    free(linger->namespace);
    free(linger->name);
    free(linger);
}
DEFINE_CLEANUP(struct linger *, linger_free);

void lingers_init(struct sorted *table)
{
    *table = (struct sorted)SORTED(struct linger *, linger_cmp);
}

void lingers_done(struct sorted *table)
{
    sorted_each(struct linger *, linger, table)
        linger_free(*linger);
    sorted_done(table);
}

static struct linger *find(const struct sorted *table, const struct object *object)
{
    const struct linger wanted = { .namespace = (char *)object->namespace,
                                   .name = (char *)object->name },
                        *pointer = &wanted;
    struct linger *const *found = sorted_find(table, &pointer);
    return found ? *found : NULL;
}

static int add(struct sorted *table, const struct object *object)
{
    CLEANUP(linger_freep) struct linger *linger = calloc(1, sizeof(*linger));
    if (!linger)
        return -ENOMEM;
    linger->namespace = strdup(object->namespace);
    linger->name = strdup(object->name);
    linger->due_ms = clock_mono_ms() + PATIENCE_MS;
    if (!linger->namespace || !linger->name || sorted_put(table, &linger) < 0)
        return -ENOMEM;
    (void)TAKE_PTR(linger);
    return 0;
}

int lingers_note(struct sorted *table, const struct change *change)
{
    const struct object *object = change->after ? change->after : change->before;
    if (object->kind != KIND_SERVICE)
        return 0;
    struct linger *linger = find(table, object);
    const bool lingers = change->after && object->deleting && to_service(object)->assigned;
    if (lingers)
        return linger ? 0 : add(table, object);
    if (linger) {
        sorted_remove(table, &linger);
        linger_free(linger);
    }
    return 0;
}

static void tell(const struct linger *linger, const struct object *object, struct faults *faults)
{
    const struct object_ties *ties = object->ties;
    AUTOFREE char *place = text_format("Service %s/%s", linger->namespace, linger->name);
    AUTOFREE char *remedy =
        text_format("if whoever set it is gone: kubectl patch service -n %s %s --type=merge -p "
                    "'{\"metadata\":{\"finalizers\":null}}'",
                    linger->namespace, linger->name);
    faults_add(faults, place ? place : "Service", remedy,
               "is deleted, and finalizer %s keeps it: its addresses are not free",
               ties && ties->finalizer_count ? ties->finalizers[0] : "(unknown)");
}

void address_lingers_tell(struct address_job *job, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    sorted_each(struct linger *const, linger, &job->lingers) {
        const struct object *object =
            store_get(job->job.board->store, KIND_SERVICE, (*linger)->namespace, (*linger)->name);
        if (object && now_ms >= (*linger)->due_ms && faults.list.count < TOLD_MAX)
            tell(*linger, object, &faults);
    }
    (void)fault_book_replace(job->job.board->faults, "addresses", "lingers", &faults,
                             clock_wall_ms());
}

int64_t lingers_next_ms(const struct sorted *table, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    sorted_each(struct linger *const, linger, table) {
        if ((*linger)->due_ms > now_ms)
            next_ms = MIN(next_ms, (*linger)->due_ms);
    }
    return next_ms;
}
