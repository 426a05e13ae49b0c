// SPDX-License-Identifier: Apache-2.0
/*
 * Tracks the Events that are wanted and those that were written; called by part_events.c.
 *
 * The API keeps an Event for an hour. So a written Event is remembered for an hour beyond the end
 * of its cause: a cause that recurs creates no Event each time. Events are dropped rather than
 * retried for long: after some tries in about a minute, or if there are too many. A dropped Event
 * is tried again after an hour, if it is still wanted.
 *
 * An Event's name is derived from its cause (plan/nat/service_event.h), so a second create has no
 * effect and no read is needed: the agent needs only the right to create Events.
 */
#include "report/event_keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/sorted.h"
#include "client/kube/kube_event.h"
#include "client/kube/kube_writer.h"
#include "faults/raise.h"
#include "faults/report.h"

enum {
    ENTRIES_MAX = 1024,
    TRIES_MAX = 6,
    MEMORY_MS = 60 * MINUTE_MS,
};

/* Limits for a few Events a minute, for a burst of them, and for a common failure. */
static const struct kube_writer_limits limits = {
    .queue = {
        .keys = 256,
        .parallel = 2,
        .per_second = 5,
        .burst = 25,
        .initial_ms = SECOND_MS,
        .max_ms = MINUTE_MS,
    },
    .answer_ms = MINUTE_MS / 2,
};

struct entry {
    char *key; /* "namespace/name" of the Event */
    struct service_event *event;
    enum { ENTRY_WAITING, ENTRY_WRITTEN, ENTRY_DROPPED } state;
    bool wanted;
    int64_t since_ms; /* in this state; monotonic */
};

struct event_keeper {
    struct event_keeper_options options;
    struct kube_client *client;
    struct kube_writer *writer;
    struct sorted entries; /* struct entry *, owned */
    uint64_t dropped;
    struct kube_writer_counts past; /* of earlier writers */
    char *node;
};

static int entry_cmp(const void *a, const void *b)
{
    const struct entry *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

static void entry_free(struct entry *entry)
{
    free(entry->key);
    free(entry->event);
    free(entry);
}
DEFINE_CLEANUP(struct entry *, entry_free);

static struct entry *find(const struct event_keeper *keeper, const char *key)
{
    const struct entry wanted = { .key = (char *)key }, *pointer = &wanted;
    struct entry *const *found = sorted_find(&keeper->entries, &pointer);
    return found ? *found : NULL;
}

static void set_state(struct entry *entry, int state)
{
    entry->state = state;
    entry->since_ms = clock_mono_ms();
}

static void drop(struct event_keeper *keeper, struct entry *entry)
{
    set_state(entry, ENTRY_DROPPED);
    keeper->dropped++;
}

/* ---- Writes ---- */

static void write_body(const struct event_keeper *keeper, const struct service_event *event,
                       const char *name, struct text *body)
{
    AUTOTEXT struct text note = { 0 };
    service_event_note(event, keeper->node, &note);
    body->failed |= text_error(&note) < 0;
    const struct kube_event written = {
        .namespace = event->namespace,
        .name = name,
        .subject = { "v1", "Service", event->service, event->uid },
        .reason = service_event_reason(event),
        .action = "Serving",
        .note = text_str(&note),
        .controller = "fingerpost.io/agentd",
        .instance = keeper->node,
    };
    const int64_t now_wall_ms = clock_wall_ms();
    kube_event_write(&written, now_wall_ms, body);
}

static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    const struct event_keeper *keeper = context;
    const struct entry *entry = find(keeper, key);
    if (!entry || !entry->wanted || entry->state != ENTRY_WAITING)
        return 0;
    const char *name = strchr(key, '/') + 1;
    write_body(keeper, entry->event, name, body);
    *write = kube_event_create(entry->event->namespace, name);
    return 1;
}

/* ---- Outcomes ---- */

static void tell_fault(const struct event_keeper *keeper, const struct kube_result *result)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (result && result->status == 403)
        fault_raise(&faults, "Events", events_forbidden, .reason = result->why);
    else if (result)
        fault_raise(&faults, "Events", events_unwritten, .reason = result->why,
                    .remedy = result->remedy);
    (void)fault_book_replace(keeper->options.status->faults, "kubernetes", "events", &faults,
                             clock_wall_ms());
}

static bool on_told(void *context, const char *key, const struct kube_told *told)
{
    struct event_keeper *keeper = context;
    const struct kube_result *result = &told->result;
    struct entry *entry = find(keeper, key);
    bool written = result->outcome == KUBE_DONE || result->outcome == KUBE_EXISTS;
    if (written)
        tell_fault(keeper, NULL);
    else if (result->outcome == KUBE_REFUSED && told->tries >= TRIES_MAX)
        tell_fault(keeper, result);
    if (!entry)
        return false;
    /* The owner of a deleted namespace needs no Event. */
    if (written || result->outcome == KUBE_MISSING)
        set_state(entry, ENTRY_WRITTEN);
    else if (told->tries >= TRIES_MAX)
        drop(keeper, entry);
    return entry->state == ENTRY_WAITING;
}

static void add_row(void *context, const struct kube_writer_row *row)
{
    struct write_status *writes = context;
    if (writes->count >= WRITE_ROWS_MAX)
        return;
    struct write_row *copy = &writes->rows[writes->count++];
    *copy = (struct write_row){
        .outcome = row->tries ? kube_outcome_name(row->outcome) : NULL,
        .running = row->running,
        .tries = row->tries,
        .since_wall_ms = row->since_wall_ms,
        .next_mono_ms = row->running ? 0 : clock_mono_ms() + row->next_ms,
    };
    (void)snprintf(copy->what, sizeof(copy->what), "create Event %s", row->key);
    (void)snprintf(copy->why, sizeof(copy->why), "%s", row->why);
}

static struct kube_writer_counts counts_of(const struct event_keeper *keeper)
{
    struct kube_writer_counts counts = kube_writer_counts(keeper->writer);
    counts.written += keeper->past.written;
    counts.retries += keeper->past.retries;
    counts.conflicts += keeper->past.conflicts;
    counts.refused += keeper->past.refused;
    counts.lost += keeper->past.lost;
    counts.found += keeper->past.found;
    return counts;
}

static void update_status(void *context)
{
    const struct event_keeper *keeper = context;
    struct write_status *writes = &keeper->options.status->writes;
    const struct kube_writer_counts counts = counts_of(keeper);
    *writes = (struct write_status){
        .enabled = true,
        .written = counts.written,
        .retries = counts.retries,
        .conflicts = counts.conflicts,
        .refused = counts.refused,
        .lost = counts.lost,
        .found = counts.found,
        .dropped = keeper->dropped,
        .waiting = (uint32_t)counts.waiting,
        .running = (uint32_t)counts.running,
    };
    kube_writer_each(keeper->writer, add_row, writes);
    if (keeper->options.changed)
        keeper->options.changed(keeper->options.context);
}

/* ---- Wanted Events ---- */

static int entry_new(const struct service_event *event, struct entry **ret_entry)
{
    char name[SERVICE_EVENT_NAME_MAX];
    CLEANUP(entry_freep) struct entry *entry = calloc(1, sizeof(*entry));
    if (!entry)
        return -ENOMEM;
    entry->key = text_format("%s/%s", event->namespace, service_event_name(event, name));
    int r = entry->key ? service_event_copy(event, &entry->event) : -ENOMEM;
    if (r < 0)
        return r;
    *ret_entry = TAKE_PTR(entry);
    return 0;
}

static void begin(struct event_keeper *keeper, struct entry *entry)
{
    set_state(entry, ENTRY_WAITING);
    if (kube_writer_add(keeper->writer, entry->key) < 0)
        drop(keeper, entry);
}

static bool is_over(const struct entry *entry, int64_t now_ms)
{
    return entry->state != ENTRY_WAITING && now_ms - entry->since_ms >= MEMORY_MS;
}

static int want(struct event_keeper *keeper, const struct service_event *event)
{
    CLEANUP(entry_freep) struct entry *entry = NULL;
    int r = entry_new(event, &entry);
    if (r < 0)
        return r;
    struct entry *known = find(keeper, entry->key);
    if (known) {
        known->wanted = true;
        if (known->state == ENTRY_DROPPED && is_over(known, clock_mono_ms()))
            begin(keeper, known);
        return 0;
    }
    if (keeper->entries.count >= ENTRIES_MAX) {
        keeper->dropped++;
        return 0;
    }
    r = sorted_put(&keeper->entries, &entry);
    if (r < 0)
        return r;
    entry->wanted = true;
    begin(keeper, TAKE_PTR(entry));
    return 0;
}

/* An entry that was not written is dropped with its cause; one that was, an hour later. */
static void forget(struct event_keeper *keeper)
{
    int64_t now_ms = clock_mono_ms();
    for (size_t i = keeper->entries.count; i-- > 0;) {
        struct entry *entry = *(struct entry **)sorted_at(&keeper->entries, i);
        if (entry->wanted || (entry->state == ENTRY_WRITTEN && !is_over(entry, now_ms)))
            continue;
        sorted_remove(&keeper->entries, &entry);
        entry_free(entry);
    }
}

void event_keeper_want(struct event_keeper *keeper, const service_event_list *wanted)
{
    int r = 0;
    sorted_each(struct entry *, entry, &keeper->entries) {
        (*entry)->wanted = false;
    }
    vec_each(struct service_event *const, event, wanted) {
        r = want(keeper, *event);
        if (r < 0)
            break;
    }
    if (r < 0)
        log_error("no memory to keep the Events of Services");
    else
        forget(keeper);
    update_status(keeper);
}

/* Takes ownership of `config`. */
static int connect_to(struct event_keeper *keeper, struct kube_config *config)
{
    CLEANUP(kube_client_freep) struct kube_client *client = NULL;
    CLEANUP(kube_writer_freep) struct kube_writer *writer = NULL;
    int r = kube_client_new(keeper->options.event, config, &client);
    if (r < 0)
        return r;
    const struct kube_writer_options options = {
        .event = keeper->options.event,
        .client = client,
        .limits = &limits,
        .make = make,
        .told = on_told,
        .changed = update_status,
        .context = keeper,
    };
    r = kube_writer_new(&options, &writer);
    if (r < 0)
        return r;
    if (keeper->writer)
        keeper->past = counts_of(keeper);
    kube_writer_free(keeper->writer);
    kube_client_free(keeper->client);
    keeper->writer = TAKE_PTR(writer);
    keeper->client = TAKE_PTR(client);
    return 0;
}

int event_keeper_new(const struct event_keeper_options *options, struct event_keeper **ret_keeper)
{
    CLEANUP(event_keeper_freep) struct event_keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper) {
        kube_config_free(options->config);
        return -ENOMEM;
    }
    keeper->options = *options;
    keeper->options.config = NULL;
    keeper->entries = (struct sorted)SORTED(struct entry *, entry_cmp);
    int r = connect_to(keeper, options->config);
    if (r < 0)
        return r;
    keeper->node = strdup(options->node);
    if (!keeper->node)
        return -ENOMEM;
    update_status(keeper);
    *ret_keeper = TAKE_PTR(keeper);
    return 0;
}

int event_keeper_reconnect(struct event_keeper *keeper, struct kube_config *config)
{
    int r = connect_to(keeper, config);
    if (r < 0)
        return r;
    sorted_each(struct entry *, entry, &keeper->entries) {
        if ((*entry)->state == ENTRY_WAITING)
            begin(keeper, *entry);
    }
    update_status(keeper);
    return 0;
}

void event_keeper_free(struct event_keeper *keeper)
{
    if (!keeper)
        return;
    kube_writer_free(keeper->writer);
    kube_client_free(keeper->client);
    sorted_each(struct entry *, entry, &keeper->entries) {
        entry_free(*entry);
    }
    sorted_done(&keeper->entries);
    free(keeper->node);
    keeper->options.status->writes = (struct write_status){ 0 };
    free(keeper);
}
