// SPDX-License-Identifier: Apache-2.0
/*
 * The current faults: the data of `agentctl faults`, of the agent's health, and of the log lines
 * about faults that are raised and cleared.
 *
 * Source, apply and agentd replace groups; api reads; agentd watches and logs. The book owns its
 * faults: each is one allocation followed by its strings, and the table is an array of pointers in
 * the order of the output, so that a group is one contiguous range of it.
 *
 * A replacement has two steps. The first does everything that can fail: the new range is built,
 * sorted and deduplicated, and the table grows. The second can't fail: each new fault gets the time
 * of the same fault in the old range, or of the same failed route with another reason, and the new
 * range replaces the old one. Hence -ENOMEM leaves the book unchanged. Of two faults that differ
 * only in the remedy, the first in order of remedies is kept, so that the result does not depend on
 * the order in which a producer found them.
 */
#include "status/fault_book.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/vec.h"

struct entry {
    struct known_fault fault;
    /* Scratch of one replacement: it is in the other range as well; with another message. */
    bool stays, changed;
    char strings[];
};

struct entries {
    VEC(struct entry *) list;
};

struct fault_book {
    struct entries known;
    fault_watcher watcher;
    void *context;
};

static void entries_done(struct entries *entries)
{
    for (size_t i = 0; i < entries->list.count; i++)
        free(entries->list.items[i]);
    vec_done(&entries->list);
}

static int group_cmp(const struct known_fault *a, const struct known_fault *b)
{
    int r = strcmp(a->subsystem, b->subsystem);
    return r != 0 ? r : strcmp(a->group, b->group);
}

enum fault_severity known_fault_severity(const struct known_fault *fault)
{
    return fault->type ? fault->type->severity : FAULT_DEGRADED;
}

const char *known_fault_code(const struct known_fault *fault)
{
    return fault->type ? fault->type->code : "";
}

/* 0 where both are the same fault; of a fault in the catalogue the message does not matter. */
static int identity_cmp(const struct known_fault *a, const struct known_fault *b)
{
    int r = group_cmp(a, b);
    if (r != 0)
        return r;
    r = strcmp(a->place, b->place);
    if (r != 0)
        return r;
    r = strcmp(known_fault_code(a), known_fault_code(b));
    if (r != 0)
        return r;
    return a->type ? strcmp(a->key, b->key) : strcmp(a->message, b->message);
}

static int fault_cmp(const struct known_fault *a, const struct known_fault *b)
{
    int r = identity_cmp(a, b);
    return r != 0 ? r : strcmp(a->message, b->message);
}

/* For qsort(): equal faults in order of their remedies, those without a remedy last. */
static int entry_cmp(const void *left, const void *right)
{
    const struct known_fault *a = &(*(struct entry *const *)left)->fault;
    const struct known_fault *b = &(*(struct entry *const *)right)->fault;
    int r = fault_cmp(a, b);
    if (r != 0)
        return r;
    if (!a->remedy || !b->remedy)
        return (a->remedy == NULL) - (b->remedy == NULL);
    return strcmp(a->remedy, b->remedy);
}

static const char *append(char **at, const char *string)
{
    const char *copy = *at;
    *at = stpcpy(*at, string) + 1;
    return copy;
}

static struct entry *entry_new(const struct known_fault *fault)
{
    const char *remedy = fault->remedy ? fault->remedy : "";
    size_t strings = strlen(fault->subsystem) + strlen(fault->group) + strlen(fault->place) +
                     strlen(fault->key) + strlen(fault->message) + strlen(remedy) + 6;
    struct entry *entry = malloc(sizeof(*entry) + strings);
    if (!entry)
        return NULL;

    char *at = entry->strings;
    entry->stays = entry->changed = false;
    entry->fault.subsystem = append(&at, fault->subsystem);
    entry->fault.group = append(&at, fault->group);
    entry->fault.type = fault->type;
    entry->fault.key = append(&at, fault->key);
    entry->fault.place = append(&at, fault->place);
    entry->fault.message = append(&at, fault->message);
    entry->fault.remedy = fault->remedy ? append(&at, remedy) : NULL;
    entry->fault.since_wall_ms = fault->since_wall_ms;
    return entry;
}

static int entries_add(struct entries *entries, const struct known_fault *fault)
{
    AUTOFREE struct entry *entry = entry_new(fault);
    if (!entry)
        return -ENOMEM;
    int r = vec_push(&entries->list, entry);
    if (r < 0)
        return r;
    (void)TAKE_PTR(entry);
    return 0;
}

static void drop_doubles(struct entries *entries)
{
    size_t kept = 0;
    for (size_t i = 0; i < entries->list.count; i++) {
        struct entry *entry = entries->list.items[i];
        if (kept > 0 && fault_cmp(&entries->list.items[kept - 1]->fault, &entry->fault) == 0)
            free(entry);
        else
            entries->list.items[kept++] = entry;
    }
    entries->list.count = kept;
}

/* Fills the new range of a group; `group` has the fields that all its faults share. */
static int build(const struct known_fault *group, const struct faults *faults,
                 struct entries *entries)
{
    struct known_fault fault = *group;
    vec_each(const struct fault, it, &faults->list) {
        fault.type = it->type;
        fault.key = it->key ? it->key : "";
        fault.place = it->place;
        fault.message = it->message;
        fault.remedy = it->remedy;
        int r = entries_add(entries, &fault);
        if (r < 0)
            return r;
    }
    if (faults->incomplete) {
        fault.type = NULL;
        fault.key = "";
        fault.place = *group->group ? group->group : group->subsystem;
        fault.message = "memory ran out while faults were collected, some are not listed";
        fault.remedy = "give the agent more memory";
        int r = entries_add(entries, &fault);
        if (r < 0)
            return r;
    }
    vec_sort(&entries->list, entry_cmp);
    drop_doubles(entries);
    return 0;
}

/* The index of the group's first fault or, with `past`, of the first one after the group. */
static size_t group_bound(const struct entries *known, const struct known_fault *group, bool past)
{
    size_t low = 0, high = known->list.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int r = group_cmp(&known->list.items[middle]->fault, group);
        if (r < 0 || (past && r == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The length of the message before the first ": ", which the reason follows. */
static size_t failed_route_length(const char *message)
{
    const char *colon = strstr(message, ": ");
    return colon ? (size_t)(colon - message) : strlen(message);
}

/* Whether both are the same failed route at the same place, with different reasons. */
static bool is_same_failed_route(const struct known_fault *a, const struct known_fault *b)
{
    size_t length = failed_route_length(a->message);
    return strcmp(a->place, b->place) == 0 && a->message[length] && b->message[length] &&
           length == failed_route_length(b->message) && memcmp(a->message, b->message, length) == 0;
}

/*
 * A fault with a new reason keeps the time of the first. Faults of one failed route are adjacent,
 * since their messages begin with the same words.
 */
static void keep_times(const struct entries *old, struct entries *fresh)
{
    for (size_t i = 0, at = 0; i < fresh->list.count; i++) {
        struct known_fault *fault = &fresh->list.items[i]->fault;
        if (fresh->list.items[i]->stays)
            continue;
        while (at < old->list.count && fault_cmp(&old->list.items[at]->fault, fault) < 0)
            at++;
        for (size_t near = at > 0 ? at - 1 : 0; near < old->list.count && near <= at; near++) {
            const struct known_fault *before = &old->list.items[near]->fault;
            if (is_same_failed_route(before, fault))
                fault->since_wall_ms = MIN(fault->since_wall_ms, before->since_wall_ms);
        }
    }
}

/* Pairs the entries of both ranges that are the same fault; the new ones get the old ones' time. */
static void match(struct entries *old, struct entries *fresh)
{
    for (size_t i = 0; i < old->list.count; i++)
        old->list.items[i]->stays = false;

    for (size_t i = 0, at = 0; i < fresh->list.count; i++) {
        struct entry *entry = fresh->list.items[i];
        while (at < old->list.count && identity_cmp(&old->list.items[at]->fault, &entry->fault) < 0)
            at++;
        if (at == old->list.count || identity_cmp(&old->list.items[at]->fault, &entry->fault) != 0)
            continue;
        struct entry *before = old->list.items[at++];
        before->stays = entry->stays = true;
        entry->changed = strcmp(before->fault.message, entry->fault.message) != 0;
        entry->fault.since_wall_ms = before->fault.since_wall_ms;
    }
}

/* Replaces `old_count` entries from `first` on by `fresh`; space is reserved. */
static void splice(struct entries *known, size_t first, size_t old_count,
                   const struct entries *fresh)
{
    struct entry **at = known->list.items + first;
    size_t tail = known->list.count - first - old_count;
    if (tail)
        memmove(at + fresh->list.count, at + old_count, tail * sizeof(*at));
    if (fresh->list.count)
        memcpy(at, fresh->list.items, fresh->list.count * sizeof(*at));
    known->list.count = first + fresh->list.count + tail;
}

static void notify(const struct fault_book *book, enum fault_change change,
                   const struct entry *entry)
{
    if (book->watcher)
        book->watcher(change, &entry->fault, book->context);
}

static void report_cleared(const struct fault_book *book, const struct entries *old)
{
    for (size_t i = 0; i < old->list.count; i++)
        if (!old->list.items[i]->stays)
            notify(book, FAULT_CLEARED, old->list.items[i]);
}

/* Returns the number of new faults. Clears `changed`: the next replacement compares again. */
static int report_fresh(const struct fault_book *book, const struct entries *fresh)
{
    int raised = 0;
    for (size_t i = 0; i < fresh->list.count; i++) {
        struct entry *entry = fresh->list.items[i];
        raised += !entry->stays;
        if (!entry->stays || entry->changed)
            notify(book, entry->stays ? FAULT_CHANGED : FAULT_RAISED, entry);
        entry->changed = false;
    }
    return raised;
}

struct fault_book *fault_book_new(void)
{
    return calloc(1, sizeof(struct fault_book));
}

void fault_book_free(struct fault_book *book)
{
    if (!book)
        return;
    entries_done(&book->known);
    free(book);
}

void fault_book_watch(struct fault_book *book, fault_watcher watcher, void *context)
{
    book->watcher = watcher;
    book->context = context;
}

int fault_book_replace(struct fault_book *book, const char *subsystem, const char *group,
                       const struct faults *faults, int64_t wall_ms)
{
    struct known_fault shared = { .subsystem = subsystem,
                                  .group = group,
                                  .since_wall_ms = wall_ms };
    size_t first = group_bound(&book->known, &shared, false);
    size_t old_count = group_bound(&book->known, &shared, true) - first;

    CLEANUP(entries_done) struct entries old = { 0 }, fresh = { 0 };
    int r = faults ? build(&shared, faults, &fresh) : 0;
    if (r < 0)
        return r;
    r = vec_reserve(&old.list, old_count);
    if (r < 0)
        return r;
    r = vec_reserve(&book->known.list, fresh.list.count);
    if (r < 0)
        return r;

    for (size_t i = 0; i < old_count; i++)
        old.list.items[old.list.count++] = book->known.list.items[first + i];
    match(&old, &fresh);
    keep_times(&old, &fresh);
    splice(&book->known, first, old_count, &fresh);

    report_cleared(book, &old);
    int raised = report_fresh(book, &fresh);
    vec_done(&fresh.list); /* the book owns its entries now */
    return raised;
}

size_t fault_book_count(const struct fault_book *book)
{
    return book->known.list.count;
}

const struct known_fault *fault_book_at(const struct fault_book *book, size_t index)
{
    return &book->known.list.items[index]->fault;
}

const struct known_fault *fault_book_find(const struct fault_book *book, const char *subsystem,
                                          const char *group)
{
    const struct known_fault wanted = { .subsystem = subsystem, .group = group };
    size_t i = group_bound(&book->known, &wanted, false);
    const struct known_fault *found = i < book->known.list.count ? fault_book_at(book, i) : NULL;

    return found && group_cmp(found, &wanted) == 0 ? found : NULL;
}

/* `codes`: separated by ", ", as in a row of the catalogue. */
static bool has_code(const char *codes, const char *code)
{
    const size_t length = strlen(code);
    for (const char *at = codes; (at = strstr(at, code)); at += length)
        if ((at == codes || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

const struct known_fault *fault_book_cause(const struct fault_book *book,
                                           const struct known_fault *fault)
{
    const struct fault_type *other = NULL; /* the last one that is no cause: many stand together */
    if (!fault->type || !fault->type->follows)
        return NULL;
    for (size_t i = 0; i < fault_book_count(book); i++) {
        const struct known_fault *cause = fault_book_at(book, i);
        if (!cause->type || cause->type == other)
            continue;
        if (!has_code(fault->type->follows, cause->type->code))
            other = cause->type;
        else if (strcmp(cause->type->subject, fault->type->subject) != 0 ||
                 strcmp(cause->place, fault->place) == 0)
            return cause;
    }
    return NULL;
}

enum fault_severity fault_book_worst(const struct fault_book *book)
{
    enum fault_severity worst = FAULT_NOTICE;
    for (size_t i = 0; i < fault_book_count(book); i++)
        worst = MAX(worst, known_fault_severity(fault_book_at(book, i)));
    return worst;
}
