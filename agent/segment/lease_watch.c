// SPDX-License-Identifier: Apache-2.0
/*
 * Lists the Leases of claims and watches them; see lease_watch.h. Owned by lease_store.c.
 *
 * A watch that ends regularly, or is silent for too long (silence.h), is resumed where it ended;
 * after any other end the Leases are listed again, and Leases that are not in the list are gone. So
 * `since_ms` is the last time that Leases may have been created and deleted unseen. The watch only
 * shortens waiting: a node that acts on a Lease reads it first.
 *
 * A Lease has some hundred bytes, so all of them are listed in one page.
 */
#include "segment/lease_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/sorted.h"
#include "base/text.h"
#include "client/kube/kube_refusal.h"
#include "format/doc.h"
#include "format/json_splitter.h"
#include "loop/backoff.h"
#include "loop/timer.h"
#include "segment/silence.h"

enum {
    NAME_MAX_LEN = 254,
    SILENCE_MS = 150 * 1000, /* of a watch, at most; bookmarks come about once a minute */
    ANSWER_MS = 10 * 1000,   /* for the head of an answer, and for a list as a whole */
    REFUSAL_MAX = 4096,
    AGAIN_MS = 250,
    AGAIN_MOST_MS = 1000,   /* an address is to be back a second after the API is */
    REFUSED_MOST_MS = 5000, /* for a refusal that will be repeated */
};

/* A known Lease, and the number of the last list that had it. */
struct known_lease {
    char name[NAME_MAX_LEN];
    uint64_t list;
};

struct lease_watch {
    struct claim_listener listener;
    struct kube_client *client;
    struct kube_request *request; /* NULL: it waits */
    struct json_splitter *splitter;
    struct timer *timer; /* for the pause, or the time limit */
    struct backoff backoff;
    struct silence silence;
    char *path;                      /* up to further parameters */
    char version[LEASE_VERSION_MAX]; /* resourceVersion to resume from; "": a list is next */
    struct sorted known;             /* struct known_lease */
    uint64_t lists;
    bool listing;
    int status; /* of HTTP; 0: no answer yet */
    int64_t retry_after_ms;
    int64_t asked_ms;    /* when this request was sent */
    struct text refusal; /* the body of an answer that is not 200 */
    const char *trouble; /* static: why the answer was abandoned */
    int64_t since_ms;
};

static void begin(struct lease_watch *watch);

static int known_cmp(const void *a, const void *b)
{
    const struct known_lease *first = a, *second = b;
    return strcmp(first->name, second->name);
}

/* ---- Events ---- */

static const char *scalar_of(const struct doc *node)
{
    return node && node->type == DOC_SCALAR ? node->text : "";
}

static int note_known(struct lease_watch *watch, const char *name, bool gone)
{
    struct known_lease known = { .list = watch->lists };
    (void)snprintf(known.name, sizeof(known.name), "%s", name);
    if (!gone)
        return sorted_put(&watch->known, &known);
    sorted_remove(&watch->known, &known);
    return 0;
}

static void tell(const struct lease_watch *watch, const char *name,
                 const struct lease_record *record, const char *version)
{
    watch->listener.heard(watch->listener.context, name, record, version);
}

/* A Lease that can't be parsed is ignored here: the node that wants its address reads it and
 * reports the error. */
static void take_lease(struct lease_watch *watch, const struct doc *lease, bool gone)
{
    struct lease_record record;
    char version[LEASE_VERSION_MAX];
    const char *name = scalar_of(doc_get(doc_get(lease, "metadata"), "name"));
    if (!*name || strlen(name) >= NAME_MAX_LEN || lease_read(lease, &record, version))
        return;
    silence_note(&watch->silence, gone ? NULL : &record);
    if (note_known(watch, name, gone) < 0)
        watch->trouble = "no memory for what the API says";
    else
        tell(watch, name, gone ? NULL : &record, version);
}

static void take_version(struct lease_watch *watch, const struct doc *object)
{
    const char *version = scalar_of(doc_get(doc_get(object, "metadata"), "resourceVersion"));
    if (*version && strlen(version) < sizeof(watch->version))
        (void)snprintf(watch->version, sizeof(watch->version), "%s", version);
}

static void take_event(struct lease_watch *watch, const struct doc *event)
{
    const char *type = scalar_of(doc_get(event, "type"));
    const struct doc *object = doc_get(event, "object");
    bool gone = strcmp(type, "DELETED") == 0;
    if (strcmp(type, "ERROR") == 0) {
        watch->trouble = "the API ended the watch";
        return;
    }
    if (gone || strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
        take_lease(watch, object, gone);
    take_version(watch, object);
}

/* The end of a list: Leases that it has not named are gone. */
static void end_list(struct lease_watch *watch, const struct doc *frame)
{
    for (size_t i = watch->known.count; i-- > 0;) {
        const struct known_lease gone = *(struct known_lease *)sorted_at(&watch->known, i);
        if (gone.list == watch->lists)
            continue;
        sorted_remove(&watch->known, &gone);
        tell(watch, gone.name, NULL, "");
    }
    take_version(watch, frame);
    watch->since_ms = clock_boot_ms();
}

static void take_part(struct lease_watch *watch, const struct json_part *part)
{
    AUTOFAULTS struct faults why = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    if (document_parse(part->text, part->length, "", READER_JSON, &document, &why) <= 0)
        watch->trouble = "the answer is no JSON";
    else if (part->kind == JSON_ITEM)
        take_lease(watch, document->root, false);
    else if (watch->listing)
        end_list(watch, document->root);
    else
        take_event(watch, document->root);
}

static void take_parts(struct lease_watch *watch)
{
    struct json_part part;
    int r = 1;
    while (r > 0 && !watch->trouble) {
        AUTOFAULTS struct faults why = { 0 };
        r = json_splitter_next(watch->splitter, &part, &why);
        if (r > 0)
            take_part(watch, &part);
        else if (r < 0)
            watch->trouble = "the answer is no JSON, or was cut off";
    }
}

static void await_news(struct lease_watch *watch)
{
    timer_arm(watch->timer, silence_limit_ms(&watch->silence, SILENCE_MS));
}

static int on_data(void *context, const char *bytes, size_t size)
{
    struct lease_watch *watch = context;
    if (watch->status != 200) {
        text_add_bytes(&watch->refusal, bytes, MIN(size, REFUSAL_MAX - watch->refusal.length));
        return 0;
    }
    json_splitter_push(watch->splitter, bytes, size);
    take_parts(watch);
    if (!watch->listing)
        await_news(watch);
    return watch->trouble ? -1 : 0;
}

/* ---- Turns ---- */

static void fail(struct lease_watch *watch, const char *why, const char *remedy)
{
    watch->version[0] = '\0';
    watch->since_ms = INT64_MAX;
    watch->listener.watching(watch->listener.context, why, remedy);
    watch->backoff.max_ms =
        watch->status >= 400 && watch->status < 500 ? REFUSED_MOST_MS : AGAIN_MOST_MS;
    const int64_t pause_ms = backoff_next(&watch->backoff);
    timer_arm(watch->timer, MAX(pause_ms, watch->retry_after_ms));
}

static void on_started(void *context, int status, int64_t retry_after_ms)
{
    struct lease_watch *watch = context;
    watch->status = status;
    watch->retry_after_ms = status == 200 ? 0 : retry_after_ms;
    if (status != 200 || watch->listing)
        return;
    await_news(watch);
    watch->listener.watching(watch->listener.context, NULL, NULL);
}

static void end_refused(struct lease_watch *watch)
{
    char why[KUBE_ERROR_LEN];
    const char *remedy = kube_refusal_read(
        watch->status, &watch->refusal,
        "allow the agent list and watch of leases (deploy/kubernetes/addresses.yaml)", why);
    fail(watch, why, remedy);
}

/* A good list does not prove that the next watch works, nor does one that ends as it begins. */
static int64_t good_pause_ms(struct lease_watch *watch)
{
    if (watch->listing)
        return 0;
    if (clock_mono_ms() - watch->asked_ms < SECOND_MS)
        return backoff_next(&watch->backoff);
    backoff_reset(&watch->backoff);
    return AGAIN_MS;
}

static void on_ended(void *context, const char *error, const char *remedy)
{
    struct lease_watch *watch = context;
    watch->request = NULL;
    timer_disarm(watch->timer);
    if (!error && watch->status == 200 && !watch->trouble) {
        json_splitter_end(watch->splitter);
        take_parts(watch);
    }
    if (watch->trouble) {
        fail(watch, watch->trouble, NULL);
    } else if (watch->status != 200 && watch->status != 0) {
        end_refused(watch);
    } else if (error || !*watch->version) {
        fail(watch, error ? error : "the answer is empty", remedy);
    } else {
        timer_arm(watch->timer, good_pause_ms(watch));
    }
}

/* The pause is over, or the silence has lasted too long. */
static void on_time(void *context)
{
    struct lease_watch *watch = context;
    if (!watch->request) {
        begin(watch);
        return;
    }
    kube_request_cancel(TAKE_PTR(watch->request));
    if (!watch->listing && watch->status == 200) {
        backoff_reset(&watch->backoff);
        watch->silence.times++;
        begin(watch);
        return;
    }
    fail(watch, "the API says nothing", NULL);
}

static char *next_path(const struct lease_watch *watch)
{
    if (watch->listing)
        return strdup(watch->path);
    return text_format("%s&watch=1&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion=%s",
                       watch->path, watch->version);
}

static void begin(struct lease_watch *watch)
{
    static const struct kube_handler handler = { on_started, on_data, on_ended };
    char error[KUBE_ERROR_LEN] = "no memory for a request";
    watch->listing = !*watch->version;
    watch->lists += watch->listing;
    watch->status = 0;
    watch->retry_after_ms = 0;
    watch->asked_ms = clock_mono_ms();
    watch->trouble = NULL;
    text_truncate(&watch->refusal, 0);
    json_splitter_free(watch->splitter);
    watch->splitter = json_splitter_new("", &reader_limits_default, watch->listing);
    AUTOFREE char *path = next_path(watch);
    if (!path || !watch->splitter ||
        kube_client_get(watch->client, path, &handler, watch, &watch->request, error) < 0)
        fail(watch, error, NULL);
    else
        timer_arm(watch->timer,
                  watch->listing ? ANSWER_MS : silence_limit_ms(&watch->silence, ANSWER_MS));
}

int64_t lease_watch_since_ms(const struct lease_watch *watch)
{
    return watch->since_ms;
}

int lease_watch_new(sd_event *event, struct kube_client *client, const char *namespace,
                    const struct claim_listener *listener, struct lease_watch **ret_watch)
{
    CLEANUP(lease_watch_freep) struct lease_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return -ENOMEM;
    watch->listener = *listener;
    watch->client = client;
    watch->known = (struct sorted)SORTED(struct known_lease, known_cmp);
    watch->backoff = (struct backoff){ .initial_ms = AGAIN_MS, .max_ms = AGAIN_MOST_MS };
    watch->since_ms = INT64_MAX;
    watch->path = text_format(
        "/apis/coordination.k8s.io/v1/namespaces/%s/leases?labelSelector=" LEASE_LABEL, namespace);
    int r = watch->path ? timer_new(event, SD_EVENT_PRIORITY_NORMAL, on_time, watch, &watch->timer)
                        : -ENOMEM;
    if (r < 0)
        return r;
    timer_arm(watch->timer, 0);
    *ret_watch = TAKE_PTR(watch);
    return 0;
}

void lease_watch_free(struct lease_watch *watch)
{
    if (!watch)
        return;
    if (watch->request)
        kube_request_cancel(watch->request);
    json_splitter_free(watch->splitter);
    timer_free(watch->timer);
    text_done(&watch->refusal);
    sorted_done(&watch->known);
    free(watch->path);
    free(watch);
}
