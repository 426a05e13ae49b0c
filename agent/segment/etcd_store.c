// SPDX-License-Identifier: Apache-2.0
/*
 * Claims as keys of etcd; see etcd_store.h.
 *
 * A write is one transaction: if the key has this revision, this etcd lease and the value that was
 * seen, it gets the new value. A value that was written by hand is not compared. A deletion names
 * revision and lease; if it hits a newer record, its holder creates the record again, and no other
 * node may take it for a duration. The first write requests an etcd lease before, and so does the
 * next write after etcd has reported that lease as unknown; writes that arrive meanwhile wait for
 * the same lease. It is kept alive every few minutes. A key outlives its lease's owner by minutes,
 * and each write attaches it to the writer's lease.
 */
#include "segment/etcd_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "base/vec.h"
#include "loop/timer.h"
#include "segment/etcd_watch.h"

enum {
    LEASE_S = 600,
    KEEP_MS = LEASE_S * 1000 / 4,
    KEEP_AGAIN_MS = 10 * 1000,
    ANSWER_MS = 10 * 1000,
    ANSWER_BYTES = 64 * 1024,
};

struct etcd_store {
    sd_event *event;
    struct etcd_client *client;
    struct etcd_watch *watch; /* NULL: there is no watch */
    char *prefix;
    VEC(const char *) endpoints; /* the strings are owned */
    char *ca_file, *cert_file, *key_file, *user, *password_file;
    int64_t lease; /* of etcd; 0: there is no valid one */
    struct timer *timer;
    struct etcd_request *keeping, *granting;
    struct claim_request *waiting; /* for the lease that is being granted, in order */
};

struct claim_request {
    struct etcd_store *store;
    struct etcd_request *request;
    char *key;                   /* with the prefix */
    char *value;                 /* of a write; NULL: a read */
    char *over;                  /* the value that is overwritten; NULL: any */
    struct etcd_version version; /* that is overwritten */
    int64_t lease;               /* that the write attaches the key to */
    int64_t deadline_ms;         /* CLOCK_MONOTONIC: of a lease and the write under it together */
    struct claim_request *next;  /* the next waiting one */
    claim_told told;
    void *context;
};

static void wait_no_more(struct claim_request *request)
{
    struct claim_request **at = &request->store->waiting;
    while (*at && *at != request)
        at = &(*at)->next;
    if (*at)
        *at = request->next;
}

static void request_free(struct claim_request *request)
{
    if (!request)
        return;
    wait_no_more(request);
    etcd_cancel(request->request);
    free(request->key);
    free(request->value);
    free(request->over);
    free(request);
}
DEFINE_CLEANUP(struct claim_request *, request_free);

/* Reports the answer and ends the request. */
static void tell(struct claim_request *request, struct claim_answer *answer)
{
    CLEANUP(request_freep) struct claim_request *owned = request;
    const struct etcd_watch *watch = request->store->watch;
    answer->version = answer->version ? answer->version : "";
    answer->since_ms = watch ? etcd_watch_since_ms(watch) : INT64_MAX;
    owned->told(owned->context, answer);
}

static void tell_failure(struct claim_request *request, const char *why, const char *remedy)
{
    struct claim_answer answer = { .outcome = CLAIM_FAILED, .why = why, .remedy = remedy };
    tell(request, &answer);
}

/*
 * If etcd refuses the lease of the key (404), the next write requests another lease: this does not
 * count as a refusal.
 */
static void tell_no(struct claim_request *request, const struct etcd_answer *answer)
{
    const bool is_no = answer->status >= 400 && answer->status < 500 && answer->status != 404;
    struct claim_answer told = {
        .outcome = CLAIM_FAILED,
        .why = answer->error,
        .remedy = answer->remedy,
        .refused = is_no || answer->retry_after_ms,
        .retry_after_ms = answer->retry_after_ms,
    };
    tell(request, &told);
}

/* ---- reads ---- */

struct reading {
    bool found;
    const char *wrong;
    struct lease_record record;
    char version[LEASE_VERSION_MAX];
};

static int on_entry(void *context, const struct etcd_entry *entry)
{
    struct reading *reading = context;
    reading->found = true;
    reading->wrong = etcd_entry_record(entry, &reading->record, reading->version);
    return 0;
}

static void on_read(void *context, const struct etcd_answer *answer)
{
    struct claim_request *request = context;
    struct reading reading = { 0 };
    struct etcd_header header;
    request->request = NULL;
    if (answer->error) {
        tell_no(request, answer);
        return;
    }
    if (etcd_read_range(answer->body, answer->size, &header, on_entry, &reading) < 0)
        reading.wrong = "etcd's answer can't be read";
    if (reading.wrong) {
        tell_failure(request, reading.wrong, "delete the key: the nodes make another");
        return;
    }
    struct claim_answer told = {
        .outcome = reading.found ? CLAIM_DONE : CLAIM_ABSENT,
        .record = reading.found ? &reading.record : NULL,
        .version = reading.version,
    };
    tell(request, &told);
}

static int send(struct claim_request *request, const char *path, const struct text *body,
                void (*done)(void *context, const struct etcd_answer *answer))
{
    const struct etcd_call call = {
        .path = path,
        .body = text_str(body),
        .limit_ms = MAX(request->deadline_ms - clock_mono_ms(), 1),
        .answer_bytes = ANSWER_BYTES,
        .done = done,
        .context = request,
    };
    int r = text_error(body);
    return r < 0 ? r : etcd_send(request->store->client, &call, &request->request);
}

/* ---- writes ---- */

/* "requested lease not found": the next write requests another. */
static void on_written(void *context, const struct etcd_answer *answer)
{
    struct claim_request *request = context;
    struct etcd_header header;
    bool succeeded = false;
    char version[ETCD_VERSION_LEN] = "";
    request->request = NULL;
    if (answer->error) {
        if (answer->status == 404 && request->store->lease == request->lease)
            request->store->lease = 0;
        tell_no(request, answer);
        return;
    }
    if (etcd_read_txn(answer->body, answer->size, &header, &succeeded) < 0) {
        tell_failure(request, "etcd's answer can't be read", NULL);
        return;
    }
    etcd_version_str(&(struct etcd_version){ header.revision, request->lease }, version);
    struct claim_answer told = {
        .outcome = succeeded ? CLAIM_DONE : CLAIM_CONFLICT,
        .version = succeeded ? version : "",
    };
    tell(request, &told);
}

static int send_put(struct claim_request *request)
{
    AUTOTEXT struct text body = { 0 };
    request->lease = request->store->lease;
    etcd_put_if(&body, request->key, request->value, request->lease, &request->version,
                request->over);
    return send(request, "/v3/kv/txn", &body, on_written);
}

static void go_on(struct claim_request *request, const struct etcd_answer *answer, bool read)
{
    if (answer->error) {
        tell_no(request, answer);
        return;
    }
    int r = read ? send_put(request) : 0;
    if (!read || r < 0)
        tell_failure(request, read ? strerror(-r) : "etcd's answer can't be read", NULL);
}

/*
 * Callbacks may cancel others that wait, or make new requests, which then wait for the next lease.
 */
static void on_granted(void *context, const struct etcd_answer *answer)
{
    struct etcd_store *store = context;
    int64_t lease = 0, ttl_s = 0;
    size_t count = 0;
    store->granting = NULL;
    bool read = !answer->error && etcd_read_lease(answer->body, answer->size, &lease, &ttl_s) == 0;
    if (read) {
        store->lease = lease;
        timer_arm(store->timer, KEEP_MS);
    }
    for (const struct claim_request *it = store->waiting; it; it = it->next)
        count++;
    for (; count > 0 && store->waiting; count--) {
        struct claim_request *request = store->waiting;
        wait_no_more(request);
        go_on(request, answer, read);
    }
}

/* All requests have the same limit, so the limit of the first one fits the others. */
static int send_grant(struct etcd_store *store, int64_t deadline_ms)
{
    AUTOTEXT struct text body = { 0 };
    etcd_grant(&body, LEASE_S);
    const struct etcd_call call = {
        .path = "/v3/lease/grant",
        .body = text_str(&body),
        .limit_ms = MAX(deadline_ms - clock_mono_ms(), 1),
        .answer_bytes = ANSWER_BYTES,
        .done = on_granted,
        .context = store,
    };
    int r = text_error(&body);
    return r < 0 ? r : etcd_send(store->client, &call, &store->granting);
}

static int wait_for_lease(struct claim_request *request)
{
    struct etcd_store *store = request->store;
    struct claim_request **last = &store->waiting;
    int r = store->granting ? 0 : send_grant(store, request->deadline_ms);
    if (r < 0)
        return r;
    while (*last)
        last = &(*last)->next;
    *last = request;
    return 0;
}

static void on_kept(void *context, const struct etcd_answer *answer)
{
    struct etcd_store *store = context;
    int64_t lease = 0, ttl_s = 0;
    store->keeping = NULL;
    bool good = !answer->error && etcd_read_lease(answer->body, answer->size, &lease, &ttl_s) == 0;
    if (good && lease == store->lease && ttl_s <= 0)
        store->lease = 0;
    if (store->lease)
        timer_arm(store->timer, good ? KEEP_MS : KEEP_AGAIN_MS);
}

static void keep_alive(void *context)
{
    struct etcd_store *store = context;
    AUTOTEXT struct text body = { 0 };
    etcd_keep_alive(&body, store->lease);
    const struct etcd_call call = {
        .path = "/v3/lease/keepalive",
        .body = text_str(&body),
        .limit_ms = ANSWER_MS,
        .answer_bytes = ANSWER_BYTES,
        .done = on_kept,
        .context = store,
    };
    if (text_error(&body) < 0 || etcd_send(store->client, &call, &store->keeping) < 0)
        timer_arm(store->timer, KEEP_AGAIN_MS);
}

/* ---- operations ---- */

static int request_new(struct etcd_store *store, const struct claim_ask *ask,
                       struct claim_request **ret_request)
{
    CLEANUP(request_freep) struct claim_request *request = calloc(1, sizeof(*request));
    if (!request)
        return -ENOMEM;
    request->store = store;
    request->deadline_ms = clock_mono_ms() + ask->limit_ms;
    request->told = ask->told;
    request->context = ask->context;
    request->key = text_format("%s%s", store->prefix, ask->key);
    if (!request->key)
        return -ENOMEM;
    *ret_request = TAKE_PTR(request);
    return 0;
}

static int read_key(void *store, const struct claim_ask *ask, struct claim_request **ret_request)
{
    CLEANUP(request_freep) struct claim_request *request = NULL;
    AUTOTEXT struct text body = { 0 };
    int r = request_new(store, ask, &request);
    if (r < 0)
        return r;
    etcd_get(&body, request->key);
    r = send(request, "/v3/kv/range", &body, on_read);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

static int write_key(void *data, const struct claim_ask *ask, struct claim_request **ret_request)
{
    struct etcd_store *store = data;
    CLEANUP(request_freep) struct claim_request *request = NULL;
    const bool is_compared = ask->over && !ask->over->foreign;
    int r = request_new(store, ask, &request);
    if (r < 0)
        return r;
    if (ask->version && *ask->version)
        r = etcd_version_parse(ask->version, &request->version);
    if (r < 0)
        return r;
    request->value = etcd_record_value(ask->desired, ask->key);
    request->over = is_compared ? etcd_record_value(ask->over, ask->key) : NULL;
    if (!request->value || (is_compared && !request->over))
        return -ENOMEM;
    r = store->lease ? send_put(request) : wait_for_lease(request);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

static int remove_key(void *store, const struct claim_ask *ask, struct claim_request **ret_request)
{
    CLEANUP(request_freep) struct claim_request *request = NULL;
    AUTOTEXT struct text body = { 0 };
    int r = request_new(store, ask, &request);
    r = r < 0 ? r : etcd_version_parse(ask->version, &request->version);
    if (r < 0)
        return r;
    etcd_delete_if(&body, request->key, &request->version);
    r = send(request, "/v3/kv/txn", &body, on_written);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

static int watch_keys(void *data, const struct claim_listener *listener)
{
    struct etcd_store *store = data;
    return etcd_watch_new(store->event, store->client, store->prefix, listener, &store->watch);
}

/* ---- life ---- */

static void store_end(void *data)
{
    struct etcd_store *store = data;
    if (!store)
        return;
    etcd_watch_free(store->watch);
    etcd_cancel(store->keeping);
    etcd_cancel(store->granting);
    timer_free(store->timer);
    etcd_client_free(store->client);
    vec_each(const char *, endpoint, &store->endpoints)
        free((char *)*endpoint);
    vec_done(&store->endpoints);
    free(store->prefix);
    free(store->ca_file);
    free(store->cert_file);
    free(store->key_file);
    free(store->user);
    free(store->password_file);
    free(store);
}

static void store_endp(struct etcd_store **store)
{
    store_end(*store);
}

static const struct claim_store_ops etcd_ops = {
    .name = "etcd key",
    .read = read_key,
    .create = write_key,
    .update = write_key,
    .release = write_key,
    .remove = remove_key,
    .cancel = request_free,
    .watch = watch_keys,
    .free = store_end,
};

static int copy(const char *from, char **to)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -ENOMEM : 0;
}

static int copy_options(const struct etcd_store_options *options, struct etcd_store *store)
{
    for (size_t i = 0; i < options->where.endpoint_count; i++) {
        char *own = strdup(options->where.endpoints[i]);
        if (!own || vec_push(&store->endpoints, own) < 0) {
            free(own);
            return -ENOMEM;
        }
    }
    int r = copy(options->prefix, &store->prefix);
    r = r < 0 ? r : copy(options->where.ca_file, &store->ca_file);
    r = r < 0 ? r : copy(options->where.cert_file, &store->cert_file);
    r = r < 0 ? r : copy(options->where.user, &store->user);
    r = r < 0 ? r : copy(options->where.password_file, &store->password_file);
    return r < 0 ? r : copy(options->where.key_file, &store->key_file);
}

int etcd_store_new(sd_event *event, const struct etcd_store_options *options,
                   struct claim_store *ret_store)
{
    CLEANUP(store_endp) struct etcd_store *store = calloc(1, sizeof(*store));
    if (!store)
        return -ENOMEM;
    store->event = event;
    int r = copy_options(options, store);
    if (r < 0)
        return r;
    const struct etcd_where where = { store->endpoints.items, store->endpoints.count,
                                      store->ca_file,         store->cert_file,
                                      store->key_file,        store->user,
                                      store->password_file };
    r = etcd_client_new(event, &where, &store->client);
    if (r < 0)
        return r;
    r = timer_new(event, SD_EVENT_PRIORITY_NORMAL, keep_alive, store, &store->timer);
    if (r < 0)
        return r;
    *ret_store = (struct claim_store){ &etcd_ops, TAKE_PTR(store) };
    return 0;
}
