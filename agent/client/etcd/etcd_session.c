// SPDX-License-Identifier: Apache-2.0
/*
 * The token of a client with an etcd user. Called by etcd.c.
 *
 * Requests that need a token wait while a login of the client is under way: a login costs etcd 0.1
 * s of CPU time. Each request waits no longer than its own limit. After a failed login there is
 * none for a while, with growing pauses; requests in that time fail at once with the error of that
 * login.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/etcd/etcd_inside.h"
#include "client/etcd/etcd_login.h"
#include "loop/backoff.h"
#include "loop/timer.h"

enum {
    LOGIN_MS = 5000,
    LOGIN_BYTES = 4096,
    AGAIN_MS = 250,
    AGAIN_MOST_MS = 5000,
};

struct etcd_session {
    struct etcd_client *client;
    char *token; /* NULL: there is no valid token */
    uint64_t number;
    struct etcd_request *login; /* NULL: none is under way */
    int login_error;            /* of reading the password file; 0: none */
    VEC(struct etcd_request *) waiting;
    uint64_t answers; /* to logins: a request that waits since then is not affected by the answer
                         before */
    struct timer *timer;
    struct backoff backoff;
    int64_t not_before_ms; /* of the next login */
    int status;            /* of the last, if it failed */
    struct text why;
    const char *remedy;
};

static void drop_token(struct etcd_session *session)
{
    if (session->token)
        explicit_bzero(session->token, strlen(session->token));
    free(TAKE_PTR(session->token));
}

const char *etcd_session_token(const struct etcd_client *client, uint64_t *ret_number)
{
    *ret_number = client->session->number;
    return client->session->token;
}

void etcd_session_is_over(struct etcd_client *client, uint64_t number)
{
    if (client->session->number == number)
        drop_token(client->session);
}

/* ---- Waiting requests ---- */

static bool is_refusing(const struct etcd_session *session, int64_t now_ms)
{
    return !session->login && now_ms < session->not_before_ms;
}

static void arm(struct etcd_session *session)
{
    const int64_t now_ms = clock_mono_ms();
    int64_t due_ms = INT64_MAX;
    for (size_t i = 0; i < session->waiting.count; i++)
        due_ms = MIN(due_ms, session->waiting.items[i]->deadline_ms);
    if (session->waiting.count && is_refusing(session, now_ms))
        due_ms = now_ms;
    if (due_ms == INT64_MAX)
        timer_disarm(session->timer);
    else
        timer_arm(session->timer, due_ms - now_ms);
}

void etcd_session_forget(struct etcd_request *request)
{
    struct etcd_session *session = request->client->session;
    for (size_t i = 0; session && i < session->waiting.count; i++) {
        if (session->waiting.items[i] != request)
            continue;
        session->waiting.count--;
        memmove(&session->waiting.items[i], &session->waiting.items[i + 1],
                (session->waiting.count - i) * sizeof(session->waiting.items[i]));
        return;
    }
}

static void refuse(struct etcd_request *request, int status, const char *why, const char *remedy)
{
    const struct etcd_answer answer = { status, "", 0, why, remedy, 0 };
    etcd_session_forget(request);
    etcd_end(request, &answer);
}

static void time_out(struct etcd_session *session, struct etcd_request *request)
{
    const struct etcd_where *where = &session->client->where;
    const size_t endpoint = session->login ? session->login->endpoint : session->client->current;
    AUTOTEXT struct text why = { 0 };
    text_addf(&why, "%s: no answer to a login came in time", where->endpoints[endpoint]);
    refuse(request, 0, text_str(&why), etcd_members_remedy);
}

/* One at a time: the callback may begin other requests, and cancel some that wait. */
static struct etcd_request *first_late(const struct etcd_session *session, int64_t now_ms)
{
    for (size_t i = 0; i < session->waiting.count; i++) {
        if (session->waiting.items[i]->deadline_ms <= now_ms)
            return session->waiting.items[i];
    }
    return NULL;
}

static struct etcd_request *first_before(const struct etcd_session *session, uint64_t answer)
{
    for (size_t i = 0; i < session->waiting.count; i++) {
        if (session->waiting.items[i]->waits_since < answer)
            return session->waiting.items[i];
    }
    return NULL;
}

static void serve(struct etcd_session *session)
{
    const uint64_t answer = ++session->answers;
    struct etcd_request *request;
    while ((request = first_before(session, answer))) {
        if (!session->token) {
            refuse(request, session->status, text_str(&session->why), session->remedy);
            continue;
        }
        etcd_session_forget(request);
        int r = etcd_request_send(request, session->client->current);
        if (r < 0)
            refuse(request, 0, strerror(-r), NULL);
    }
    arm(session);
}

static void on_time(void *context)
{
    struct etcd_session *session = context;
    const int64_t now_ms = clock_mono_ms();
    struct etcd_request *late;
    while ((late = first_late(session, now_ms)))
        time_out(session, late);
    if (is_refusing(session, now_ms))
        serve(session);
    else
        arm(session);
}

/* ---- Logins ---- */

static void note_refusal(struct etcd_session *session, const struct etcd_answer *answer)
{
    text_done(&session->why);
    if (answer->error)
        text_add(&session->why, answer->error);
    else
        text_addf(
            &session->why, "%s: the answer to a login can't be read",
            session->client->where.endpoints[session->client->current]); /* it has the token */
    if (session->login_error)
        text_addf(&session->why, "; the file of the password: %s", strerror(-session->login_error));
    session->status = answer->error ? answer->status : 0;
    session->remedy = answer->error ? answer->remedy : "see what etcd's journal says of this login";
    session->not_before_ms =
        clock_mono_ms() + MAX(backoff_next(&session->backoff), answer->retry_after_ms);
}

static void on_login(void *context, const struct etcd_answer *answer)
{
    struct etcd_session *session = context;
    session->login = NULL;
    drop_token(session);
    if (!answer->error && etcd_login_token(answer->body, answer->size, &session->token) == 0) {
        session->number++;
        backoff_reset(&session->backoff);
    } else {
        note_refusal(session, answer);
    }
    serve(session);
}

static int log_in(struct etcd_session *session)
{
    const struct etcd_where *where = &session->client->where;
    struct text body = { 0 };
    session->login_error = etcd_login_body(where->user, where->password_file, &body);
    const struct etcd_call call = {
        .path = ETCD_LOGIN_PATH,
        .body = text_str(&body),
        .limit_ms = LOGIN_MS,
        .answer_bytes = LOGIN_BYTES,
        .done = on_login,
        .context = session,
    };
    int r = text_error(&body);
    if (r >= 0)
        r = etcd_send_to(session->client, &call, session->client->current, ETCD_LOGS_IN,
                         &session->login);
    if (body.data)
        explicit_bzero(body.data, body.length);
    text_done(&body);
    return r;
}

int etcd_session_wait(struct etcd_request *request)
{
    struct etcd_session *session = request->client->session;
    int r = vec_push(&session->waiting, request);
    request->waits_since = session->answers;
    if (r == 0 && !session->login && !is_refusing(session, clock_mono_ms()))
        r = log_in(session);
    if (r < 0)
        etcd_session_forget(request);
    arm(session);
    return r;
}

/* ---- Life ---- */

int etcd_session_begin(struct etcd_client *client)
{
    struct etcd_session *session = calloc(1, sizeof(*session));
    if (!session)
        return -ENOMEM;
    client->session = session;
    session->client = client;
    session->backoff = (struct backoff){ .initial_ms = AGAIN_MS, .max_ms = AGAIN_MOST_MS };
    return timer_new(client->event, SD_EVENT_PRIORITY_NORMAL, on_time, session, &session->timer);
}

void etcd_session_end(struct etcd_client *client)
{
    struct etcd_session *session = client->session;
    if (!session)
        return;
    etcd_drop(session->login);
    drop_token(session);
    timer_free(session->timer);
    vec_done(&session->waiting);
    text_done(&session->why);
    free(session);
    client->session = NULL;
}
