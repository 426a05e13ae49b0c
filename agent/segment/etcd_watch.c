// SPDX-License-Identifier: Apache-2.0
/*
 * Lists the keys of claims and watches them; see etcd_watch.h. Owned by etcd_store.c.
 *
 * A watch resumes after the last revision that was received, so nothing is missed; it is restarted
 * each minute, and after a silence (silence.h), since a dead peer sends nothing. If etcd does not
 * have that revision any more (compacted), is another cluster, or has a lower revision than before
 * (restored from a snapshot), a list is read first, and keys that are not in it are gone. In this
 * case keys may have been created and deleted unseen.
 */
#include "segment/etcd_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "base/text.h"
#include "format/json_splitter.h"
#include "format/reader.h"
#include "loop/backoff.h"
#include "loop/timer.h"
#include "segment/silence.h"

enum {
    NAME_MAX_LEN = 254,
    ROUND_MS = 60 * 1000,
    LIST_MS = 10 * 1000,
    LIST_BYTES = 16 << 20,
};

/* A known key, and the number of the last list that had it. */
struct known_key {
    char name[NAME_MAX_LEN];
    uint64_t list;
};

struct etcd_watch {
    struct claim_listener listener;
    struct etcd_client *client;
    const char *prefix;
    struct etcd_request *request; /* NULL: it waits */
    struct json_splitter *splitter;
    struct timer *timer;
    struct backoff backoff;
    struct silence silence;
    struct etcd_header header; /* of the last message; revision 0: a list is next */
    struct sorted known;       /* struct known_key */
    uint64_t lists;
    bool told, standing; /* whether the listener was notified; whether the watch is established */
    bool begun;          /* etcd has answered this request */
    int64_t asked_ms;    /* when this request was sent */
    bool lost;           /* the known state is not valid any more */
    int64_t since_ms;
};

static int known_cmp(const void *a, const void *b)
{
    return strcmp(((const struct known_key *)a)->name, ((const struct known_key *)b)->name);
}

int64_t etcd_watch_since_ms(const struct etcd_watch *watch)
{
    return watch->standing && watch->header.revision ? watch->since_ms : INT64_MAX;
}

char *etcd_record_value(const struct lease_record *record, const char *key)
{
    AUTOTEXT struct text value = { 0 };
    lease_write(record, "", key, NULL, NULL, &value);
    return text_take(&value);
}

/* Without memory it counts as foreign: its revision and its lease identify it, too. */
static bool is_foreign(const struct etcd_entry *entry, const struct lease_record *record)
{
    const char *slash = strrchr(entry->key, '/');
    AUTOFREE char *ours = etcd_record_value(record, slash ? slash + 1 : entry->key);
    return !ours || strcmp(ours, entry->value) != 0;
}

const char *etcd_entry_record(const struct etcd_entry *entry, struct lease_record *ret_record,
                              char ret_version[static LEASE_VERSION_MAX])
{
    _Static_assert((int)ETCD_VERSION_LEN <= (int)LEASE_VERSION_MAX, "a version has room");
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    if (document_parse(entry->value, entry->length, "value", READER_JSON, &document, &faults) != 1)
        return "the value is no JSON";
    const char *wrong = lease_read(document->root, ret_record, ret_version);
    if (wrong)
        return wrong;
    etcd_version_str(&entry->version, ret_version);
    ret_record->foreign = is_foreign(entry, ret_record);
    return NULL;
}

/* ---- events ---- */

static void tell_gone(struct etcd_watch *watch, const char *name)
{
    struct known_key key;
    (void)snprintf(key.name, sizeof(key.name), "%s", name);
    sorted_remove(&watch->known, &key);
    watch->listener.heard(watch->listener.context, key.name, NULL, "");
}

/* A value that can't be parsed is reported by the node that reads it for a claim. */
static int on_entry(void *context, const struct etcd_entry *entry)
{
    struct etcd_watch *watch = context;
    struct known_key key = { .list = watch->lists };
    struct lease_record record;
    char version[LEASE_VERSION_MAX] = "";
    const size_t length = strlen(watch->prefix);
    if (strncmp(entry->key, watch->prefix, length) != 0 ||
        strlen(entry->key + length) >= sizeof(key.name))
        return 0;
    (void)snprintf(key.name, sizeof(key.name), "%s", entry->key + length);
    if (entry->deleted) {
        silence_note(&watch->silence, NULL);
        tell_gone(watch, key.name);
        return 0;
    }
    if (etcd_entry_record(entry, &record, version))
        return 0;
    silence_note(&watch->silence, &record);
    int r = sorted_put(&watch->known, &key);
    if (r < 0)
        return r;
    watch->listener.heard(watch->listener.context, key.name, &record, version);
    return 0;
}

static void forget_unnamed(struct etcd_watch *watch)
{
    for (size_t i = watch->known.count; i-- > 0;) {
        const struct known_key key = *(struct known_key *)sorted_at(&watch->known, i);
        if (key.list != watch->lists)
            tell_gone(watch, key.name);
    }
}

static void tell_standing(struct etcd_watch *watch, const char *why, const char *remedy)
{
    const bool standing = !why;
    if (watch->told && watch->standing == standing)
        return;
    watch->told = true;
    watch->standing = standing;
    watch->listener.watching(watch->listener.context, why, remedy);
}

static bool is_another_store(const struct etcd_watch *watch, const struct etcd_header *header)
{
    return header->revision < watch->header.revision ||
           strcmp(header->cluster, watch->header.cluster) != 0;
}

static int take_message(struct etcd_watch *watch, const struct json_part *part)
{
    struct etcd_news news = { 0 };
    int r = etcd_read_news(part->text, part->length, &news, on_entry, watch);
    if (r < 0)
        return r;
    watch->lost |= news.canceled || news.compacted || is_another_store(watch, &news.header);
    if (watch->lost)
        return -ECANCELED;
    watch->header = news.header;
    if (news.created) {
        watch->begun = true;
        tell_standing(watch, NULL, NULL);
    }
    return 0;
}

static void go(struct etcd_watch *watch, int64_t delay_ms)
{
    timer_arm(watch->timer, delay_ms);
}

static void await_news(struct etcd_watch *watch)
{
    go(watch, silence_limit_ms(&watch->silence, ROUND_MS));
}

static int on_data(void *context, const char *bytes, size_t size)
{
    struct etcd_watch *watch = context;
    AUTOFAULTS struct faults faults = { 0 };
    struct json_part part;
    int r;
    json_splitter_push(watch->splitter, bytes, size);
    while ((r = json_splitter_next(watch->splitter, &part, &faults)) > 0) {
        r = take_message(watch, &part);
        if (r < 0)
            return r;
    }
    await_news(watch);
    return r;
}

/* ---- requests ---- */

/* A watch that ends as soon as it has begun, as behind a faulty load balancer, counts as a failure:
 * otherwise it would restart without a pause. */
static bool has_lasted(struct etcd_watch *watch)
{
    const bool lasted = watch->begun && clock_mono_ms() - watch->asked_ms >= SECOND_MS;
    if (lasted)
        backoff_reset(&watch->backoff);
    return lasted;
}

static void on_watched(void *context, const struct etcd_answer *answer)
{
    struct etcd_watch *watch = context;
    const bool lasted = has_lasted(watch);
    watch->request = NULL;
    json_splitter_free(TAKE_PTR(watch->splitter));
    /* The round is over, or the known state is not valid: neither is an error of etcd. */
    if (watch->standing && (watch->lost || answer->status == 200)) {
        go(watch, watch->lost || !lasted ? backoff_next(&watch->backoff) : 0);
    } else {
        tell_standing(watch, answer->error ? answer->error : "the watch ended", answer->remedy);
        go(watch, backoff_next(&watch->backoff));
    }
    if (watch->lost)
        watch->header = (struct etcd_header){ 0 };
    watch->lost = false;
}

static void on_listed(void *context, const struct etcd_answer *answer)
{
    struct etcd_watch *watch = context;
    struct etcd_header header = { 0 };
    const char *why = answer->error;
    watch->request = NULL;
    watch->lists++;
    if (!why && etcd_read_range(answer->body, answer->size, &header, on_entry, watch) < 0)
        why = "the answer to a list can't be read";
    if (why) {
        tell_standing(watch, why, answer->remedy);
        go(watch, backoff_next(&watch->backoff));
        return;
    }
    watch->header = header;
    watch->since_ms = clock_boot_ms();
    forget_unnamed(watch);
    go(watch, 0);
}

static int begin(struct etcd_watch *watch)
{
    AUTOTEXT struct text body = { 0 };
    struct reader_limits limits = reader_limits_default;
    const bool lists = watch->header.revision == 0;
    struct etcd_call call = { .path = lists ? "/v3/kv/range" : "/v3/watch", .context = watch };
    if (lists) {
        etcd_list(&body, watch->prefix);
        call.limit_ms = LIST_MS;
        call.answer_bytes = LIST_BYTES;
        call.done = on_listed;
    } else {
        etcd_watch_from(&body, watch->prefix, watch->header.revision + 1);
        call.limit_ms = ROUND_MS;
        call.data = on_data;
        call.done = on_watched;
        watch->splitter = json_splitter_new("etcd's watch", &limits, false);
        if (!watch->splitter)
            return -ENOMEM;
    }
    call.body = text_str(&body);
    int r = text_error(&body);
    watch->begun = false;
    watch->asked_ms = clock_mono_ms();
    if (!lists)
        await_news(watch);
    return r < 0 ? r : etcd_send(watch->client, &call, &watch->request);
}

static void stop(struct etcd_watch *watch)
{
    etcd_cancel(TAKE_PTR(watch->request));
    json_splitter_free(TAKE_PTR(watch->splitter));
}

/* The pause is over, or the silence has lasted too long. */
static void on_time(void *context)
{
    struct etcd_watch *watch = context;
    const char *why = watch->request && !watch->begun ? "etcd says nothing" : NULL;
    if (watch->request) {
        (void)has_lasted(watch);
        watch->silence.times++;
        stop(watch);
    }
    int r = why ? 0 : begin(watch);
    if (r == 0 && !why)
        return;
    stop(watch);
    tell_standing(watch, why ? why : strerror(-r), NULL);
    go(watch, backoff_next(&watch->backoff));
}

int etcd_watch_new(sd_event *event, struct etcd_client *client, const char *prefix,
                   const struct claim_listener *listener, struct etcd_watch **ret_watch)
{
    CLEANUP(etcd_watch_freep) struct etcd_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return -ENOMEM;
    watch->listener = *listener;
    watch->client = client;
    watch->prefix = prefix;
    watch->known = (struct sorted)SORTED(struct known_key, known_cmp);
    watch->backoff = (struct backoff){ .initial_ms = 200, .max_ms = 5 * SECOND_MS };
    int r = timer_new(event, SD_EVENT_PRIORITY_NORMAL, on_time, watch, &watch->timer);
    if (r < 0)
        return r;
    go(watch, 0);
    *ret_watch = TAKE_PTR(watch);
    return 0;
}

void etcd_watch_free(struct etcd_watch *watch)
{
    if (!watch)
        return;
    stop(watch);
    timer_free(watch->timer);
    sorted_done(&watch->known);
    free(watch);
}
