// SPDX-License-Identifier: Apache-2.0
/*
 * Sessions and locks; see consul_lock.h. Called by the controller's target for Consul.
 *
 * One request at a time, each step decided by the answer to the last one:
 *
 *   CREATE  a session with a TTL (PUT /v1/session/create)
 *   LOCK    the key by it (PUT /v1/kv/KEY?acquire=ID answers true or false)
 *   LOOK    who has it, if that said false (GET /v1/kv/KEY)
 *   END     of the session of an earlier run of ours, or of ours where the lock is given up
 *           (PUT /v1/session/destroy/ID)
 *   RENEW   at half the TTL, while it is held or striven for (PUT /v1/session/renew/ID; 404: gone)
 *
 * The lock-delay of our session is 0: it would keep others waiting, who are kept from harm by the
 * check in each transaction. That of kube-service-exporter's sessions is 15 s; until then Consul
 * answers false.
 */
#include "client/consul/consul_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/consul/consul_kv.h"
#include "format/json.h"
#include "format/reader.h"
#include "loop/backoff.h"
#include "loop/timer.h"

enum step { STEP_CREATE, STEP_LOCK, STEP_LOOK, STEP_END, STEP_RENEW };

enum {
    SESSION_LEN = 64,
    ANSWER_MS = 10 * 1000,
    ANSWER_BYTES = 64 * 1024,
    AGAIN_MS = 2000, /* between two reads of a lock that another session holds */
};

struct consul_lock {
    struct consul_lock_options options;
    struct timer *timer;
    struct backoff backoff;
    struct consul_request *request;
    enum step step;
    bool striving, ending;
    char session[SESSION_LEN]; /* ours; "": none */
    char earlier[SESSION_LEN]; /* the session that holds the key with our identity */
    bool held;
    int64_t renewed_ms; /* when the renewal that succeeded was sent, monotonic */
    int64_t sent_ms;
    char error[CONSUL_ERROR_LEN];
    const char *remedy;
    struct consul_lock_counts counts;
};

static void go(struct consul_lock *lock, enum step step, int64_t delay_ms)
{
    lock->step = step;
    timer_arm(lock->timer, delay_ms);
}

static void set_held(struct consul_lock *lock, bool held, const char *error, const char *remedy)
{
    bool news = lock->held != held || strcmp(lock->error, error) != 0;
    lock->held = held;
    lock->remedy = remedy;
    (void)snprintf(lock->error, sizeof(lock->error), "%s", error);
    if (news)
        lock->options.changed(lock->options.context);
}

/* ---- Answers ---- */

/* A member of the answer's object, or "". */
static void take_member(const struct consul_answer *answer, const char *name,
                        char member[static SESSION_LEN])
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    *member = '\0';
    if (document_parse(answer->body, answer->size, "answer", READER_JSON, &document, &faults) != 1)
        return;
    const struct doc *node = doc_get(document->root, name);
    if (node && node->type == DOC_SCALAR)
        (void)snprintf(member, SESSION_LEN, "%s", node->text);
}

static void on_created(struct consul_lock *lock, const struct consul_answer *answer)
{
    take_member(answer, "ID", lock->session);
    lock->renewed_ms = lock->sent_ms;
    go(lock, *lock->session ? STEP_LOCK : STEP_CREATE, *lock->session ? 0 : AGAIN_MS);
}

static void on_locked(struct consul_lock *lock, const struct consul_answer *answer)
{
    if (strncmp(answer->body, "true", 4) != 0) {
        go(lock, STEP_LOOK, 0);
        return;
    }
    backoff_reset(&lock->backoff);
    go(lock, STEP_RENEW, lock->options.ttl_ms / 2);
    set_held(lock, true, "", NULL);
}

struct look {
    struct consul_lock *lock;
    char holder[CONSUL_ERROR_LEN];
};

static int on_entry(void *context, const struct consul_entry *entry)
{
    struct look *look = context;
    (void)snprintf(look->holder, sizeof(look->holder), "%.*s", (int)entry->length, entry->value);
    (void)snprintf(look->lock->earlier, SESSION_LEN, "%s", entry->session);
    return 0;
}

/* Another session holds it; or no session does, and the lock-delay of the last one runs. */
static void on_looked(struct consul_lock *lock, const struct consul_answer *answer)
{
    struct look look = { .lock = lock };
    char error[CONSUL_ERROR_LEN] = "";
    CLEANUP(consul_reader_freep) struct consul_reader *reader = consul_reader_new(on_entry, &look);
    *lock->earlier = '\0';
    if (reader && answer->status == 200)
        (void)consul_reader_push(reader, answer->body, answer->size);
    if (*lock->earlier && strcmp(lock->earlier, lock->session) != 0 &&
        strcmp(look.holder, lock->options.identity) == 0) {
        go(lock, STEP_END, 0);
        return;
    }
    bool soon = clock_mono_ms() - lock->renewed_ms < lock->options.ttl_ms / 2;
    go(lock, soon ? STEP_LOCK : STEP_RENEW, AGAIN_MS);
    if (*lock->earlier)
        (void)snprintf(error, sizeof(error), "%.200s holds %.40s", look.holder, "the lock");
    else
        (void)snprintf(error, sizeof(error), "the lock was lost by another a moment ago");
    set_held(lock, false, error, "another exporter runs for this cluster: stop it, or wait");
}

static void on_renewed(struct consul_lock *lock)
{
    lock->renewed_ms = lock->sent_ms;
    backoff_reset(&lock->backoff);
    if (lock->held)
        go(lock, STEP_RENEW, lock->options.ttl_ms / 2);
    else
        go(lock, STEP_LOCK, 0);
}

static void begin_anew(struct consul_lock *lock, const char *error, const char *remedy)
{
    *lock->session = '\0';
    go(lock, STEP_CREATE, backoff_next(&lock->backoff));
    set_held(lock, false, error, remedy);
}

/*
 * While a renewal fails, the session may still exist. The lock counts as held until a transaction
 * says otherwise, since each transaction checks it. Without a session all steps start over.
 */
static void on_failed(struct consul_lock *lock, const struct consul_answer *answer)
{
    bool lasts = *lock->session && clock_mono_ms() - lock->renewed_ms < 2 * lock->options.ttl_ms;
    if (!lasts) {
        begin_anew(lock, answer->error, answer->remedy);
        return;
    }
    go(lock, lock->step == STEP_RENEW ? STEP_RENEW : STEP_LOCK, backoff_next(&lock->backoff));
    set_held(lock, lock->held, lock->held ? "" : answer->error, answer->remedy);
}

static void end(struct consul_lock *lock)
{
    lock->ending = false;
    lock->options.changed(lock->options.context);
}

static void count_answer(struct consul_lock *lock, const struct consul_answer *answer)
{
    struct consul_lock_count *count = lock->step == STEP_LOCK   ? &lock->counts.puts
                                      : lock->step == STEP_LOOK ? &lock->counts.gets
                                                                : NULL;
    if (!count)
        return;
    count->success += !answer->error;
    count->fail += answer->error != NULL;
    count->ms += (uint64_t)(clock_mono_ms() - lock->sent_ms);
}

static const char begins_anew[] =
    "it begins anew by itself; if it ends again, see the journal of Consul's servers";

static void on_done(void *context, const struct consul_answer *answer)
{
    struct consul_lock *lock = context;
    lock->request = NULL;
    count_answer(lock, answer);
    if (!lock->striving) {
        end(lock); /* it was destroyed, or will expire */
        return;
    }
    if (answer->status == 404 && lock->step == STEP_RENEW) {
        begin_anew(lock, "the session has ended", begins_anew);
        return;
    }
    /* Consul does not know the session: "invalid session". */
    if (answer->status == 500 && lock->step == STEP_LOCK && strstr(answer->body, "session")) {
        begin_anew(lock, "the session has ended", begins_anew);
        return;
    }
    if (answer->error) {
        on_failed(lock, answer);
        return;
    }
    switch (lock->step) {
    case STEP_CREATE:
        on_created(lock, answer);
        break;
    case STEP_LOCK:
        on_locked(lock, answer);
        break;
    case STEP_LOOK:
        on_looked(lock, answer);
        break;
    case STEP_END:
        go(lock, STEP_LOCK, 0);
        break;
    case STEP_RENEW:
        on_renewed(lock);
        break;
    }
}

/* ---- Requests ---- */

static const struct consul_handler handler = { .done = on_done };

static void session_body(const struct consul_lock *lock, struct text *body)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    json_string(&json, "Name", "Consul API Lock");
    json_stringf(&json, "TTL", "%" PRId64 "ms", lock->options.ttl_ms);
    json_string(&json, "LockDelay", "0s");
    json_string(&json, "Behavior", "release");
    json_end_object(&json);
}

/* The flags by which Consul's clients recognize a lock. */
#define LOCK_FLAGS UINT64_C(0x2ddccbc058a50c18)

static void describe(const struct consul_lock *lock, struct text *path, struct text *body)
{
    switch (lock->step) {
    case STEP_CREATE:
        text_add(path, "/v1/session/create?");
        session_body(lock, body);
        break;
    case STEP_LOCK:
        text_addf(path, "/v1/kv/%s?acquire=%s&flags=%" PRIu64, lock->options.key, lock->session,
                  LOCK_FLAGS);
        text_add(body, lock->options.identity);
        break;
    case STEP_LOOK:
        text_addf(path, "/v1/kv/%s?consistent", lock->options.key);
        break;
    case STEP_END:
        text_addf(path, "/v1/session/destroy/%s?", lock->earlier);
        break;
    case STEP_RENEW:
        text_addf(path, "/v1/session/renew/%s?", lock->session);
        break;
    }
}

static void send_step(void *context)
{
    struct consul_lock *lock = context;
    AUTOTEXT struct text path = { 0 }, body = { 0 };
    describe(lock, &path, &body);
    const struct consul_call call = {
        .method = lock->step == STEP_LOOK ? NULL : "PUT",
        .path = text_str(&path),
        .body = text_str(&body),
        .limit_ms = ANSWER_MS,
        .answer_bytes = ANSWER_BYTES,
    };
    lock->sent_ms = clock_mono_ms();
    int r = text_error(&path) < 0 || text_error(&body) < 0 ? -ENOMEM : 0;
    if (r >= 0)
        r = consul_send(lock->options.client, &call, &handler, lock, &lock->request);
    if (r < 0 && !lock->striving) {
        end(lock);
    } else if (r < 0) {
        char why[CONSUL_ERROR_LEN];
        const char *remedy = consul_send_failure(lock->options.client, r, why);
        const struct consul_answer answer = { .error = why, .remedy = remedy };
        on_failed(lock, &answer);
    }
}

int consul_lock_new(const struct consul_lock_options *options, struct consul_lock **ret_lock)
{
    CLEANUP(consul_lock_freep) struct consul_lock *lock = calloc(1, sizeof(*lock));
    if (!lock)
        return -ENOMEM;
    lock->options = *options;
    lock->backoff = (struct backoff){ .initial_ms = SECOND_MS, .max_ms = 30 * SECOND_MS };
    int r = timer_new(options->event, options->priority, send_step, lock, &lock->timer);
    if (r < 0)
        return r;
    *ret_lock = TAKE_PTR(lock);
    return 0;
}

void consul_lock_strive(struct consul_lock *lock, bool strive)
{
    if (strive == lock->striving)
        return;
    consul_cancel(TAKE_PTR(lock->request));
    lock->striving = strive;
    lock->held = false;
    *lock->error = '\0';
    memcpy(lock->earlier, lock->session, sizeof(lock->earlier));
    *lock->session = '\0';
    backoff_reset(&lock->backoff);
    lock->ending = !strive && *lock->earlier;
    if (strive)
        go(lock, STEP_CREATE, 0);
    else if (lock->ending)
        go(lock, STEP_END, 0);
    else
        timer_disarm(lock->timer);
}

bool consul_lock_is_ending(const struct consul_lock *lock)
{
    return lock->ending;
}

const char *consul_lock_session(const struct consul_lock *lock)
{
    return lock->held ? lock->session : NULL;
}

const char *consul_lock_error(const struct consul_lock *lock, const char **ret_remedy)
{
    *ret_remedy = lock->remedy;
    return lock->error;
}

const struct consul_lock_counts *consul_lock_counts(const struct consul_lock *lock)
{
    return &lock->counts;
}

void consul_lock_invalidate(struct consul_lock *lock)
{
    if (lock->request || !lock->held)
        return;
    go(lock, STEP_RENEW, 0);
    set_held(lock, false, "the lock was lost", NULL);
}

void consul_lock_free(struct consul_lock *lock)
{
    if (!lock)
        return;
    consul_cancel(lock->request);
    timer_free(lock->timer);
    free(lock);
}
