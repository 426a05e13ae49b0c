// SPDX-License-Identifier: Apache-2.0
/*
 * Reads and writes the record of claims; see address_claims.h. Called by address_job.c.
 *
 * Each write is a merge patch with the resourceVersion that was read last (RFC 7386; the API
 * refuses it with 409 if the object has changed). The first one is a create. An uncertain outcome
 * is treated as a refusal: the record is read.
 *
 * A success is accepted if the record has a new version, or if its content was not to change.
 *
 * No other client writes to the record, but it may be deleted. So it is checked every ten seconds;
 * if it was deleted, it is written again from the current state.
 */
#include "controller/pools/address_claims.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/kube/kube_write.h"
#include "controller/job_writer.h"
#include "faults/controller.h"
#include "faults/raise.h"
#include "format/json.h"
#include "loop/backoff.h"

#define RECORD_NAME "fingerpost-addresses"

enum { VERSION_MAX = 128, ANSWER_MS = 10000, LOOK_MS = 10000 };

struct address_claims {
    struct address_claims_options options;
    struct kube_attempt *attempt;
    struct backoff backoff;
    char version[VERSION_MAX]; /* of the record; "": there is none */
    struct text stored, sent;  /* its content, and the content that is being written */
    bool writing, known;
    bool looking; /* checking whether the record is still the one that was read or written last */
    bool refused; /* the last write: a successful read does not clear the error */
    int64_t retry_ms; /* monotonic; INT64_MAX: there is nothing to retry */
    char error[KUBE_ERROR_LEN];
    bool unstored; /* the error says that a write was not stored */
};

int address_claims_new(const struct address_claims_options *options,
                       struct address_claims **ret_claims)
{
    struct address_claims *claims = calloc(1, sizeof(*claims));
    if (!claims)
        return -ENOMEM;
    claims->options = *options;
    claims->backoff = (struct backoff){ .initial_ms = SECOND_MS / 4, .max_ms = 10 * SECOND_MS };
    claims->retry_ms = INT64_MAX;
    *ret_claims = claims;
    return 0;
}

void address_claims_end(struct address_claims *claims)
{
    kube_attempt_free(TAKE_PTR(claims->attempt));
    claims->known = claims->writing = claims->refused = claims->looking = false;
    claims->retry_ms = INT64_MAX;
    claims->error[0] = '\0';
}

void address_claims_free(struct address_claims *claims)
{
    if (!claims)
        return;
    address_claims_end(claims);
    text_done(&claims->stored);
    text_done(&claims->sent);
    free(claims);
}

/* A failed check changes nothing: the state is valid until a write is needed. */
static void fail(struct address_claims *claims, const char *why)
{
    if (claims->looking) {
        claims->looking = false;
        claims->retry_ms = clock_mono_ms() + LOOK_MS;
        return;
    }
    (void)snprintf(claims->error, sizeof(claims->error), "%s", why);
    claims->unstored = why == kube_not_so;
    claims->known = claims->writing = false;
    claims->retry_ms = clock_mono_ms() + backoff_next(&claims->backoff);
    claims->options.board->wake(claims->options.board->context);
}

static const char *text_of(const struct doc *map, const char *key)
{
    const struct doc *node = doc_get(map, key);
    return node && node->type == DOC_SCALAR ? node->text : NULL;
}

static const char *version_of(const struct doc *object)
{
    return text_of(doc_get(object, "metadata"), "resourceVersion");
}

static void set_words(struct text *text, const char *state, const char *seen)
{
    text_done(text);
    text_addf(text, "%s %s", seen ? seen : "", state ? state : "");
}

/* Without memory to compare the content, it is accepted. */
static bool is_stored(const struct address_claims *claims, const struct kube_result *result)
{
    const char *version = version_of(result->object);
    const bool same = text_error(&claims->stored) < 0 || text_error(&claims->sent) < 0 ||
                      strcmp(text_str(&claims->stored), text_str(&claims->sent)) == 0;
    return version && *version && (same || strcmp(version, claims->version) != 0);
}

static void take(struct address_claims *claims, const struct doc *object, bool wrote)
{
    const char *version = version_of(object);
    (void)snprintf(claims->version, sizeof(claims->version), "%s", version ? version : "");
    claims->known = true;
    claims->retry_ms = clock_mono_ms() + LOOK_MS;
    claims->refused &= !wrote;
    if (claims->refused)
        return;
    claims->error[0] = '\0';
    backoff_reset(&claims->backoff);
}

/*
 * Whether a check has found the record unchanged, or deleted; otherwise it is read like any other.
 */
static bool is_seen(struct address_claims *claims, const struct kube_result *result)
{
    const bool there = result->outcome == KUBE_DONE;
    const char *version = there ? version_of(result->object) : NULL;
    if (!claims->looking || (!there && result->outcome != KUBE_MISSING) ||
        (there && (!version || strcmp(version, claims->version) != 0)))
        return false;
    claims->retry_ms = clock_mono_ms() + LOOK_MS;
    if (there || !*claims->version)
        return true;
    claims->version[0] = '\0';
    claims->options.gone(claims->options.context);
    return true;
}

/* The content is now what was sent. */
static void set_sent(struct address_claims *claims)
{
    text_done(&claims->stored);
    claims->stored = claims->sent;
    claims->sent = (struct text){ 0 };
}

/* The record was read. */
static void take_words(struct address_claims *claims, const struct doc *object)
{
    const struct doc *data = doc_get(object, "data");
    const char *seen = text_of(data, "seen"), *state = text_of(data, "state");
    take(claims, object, false);
    set_words(&claims->stored, state, seen);
    claims->options.read(claims->options.context, state ? state : "", seen ? seen : "");
}

static void on_told(void *context, const struct kube_result *result)
{
    struct address_claims *claims = context;
    const struct address_claims_options *options = &claims->options;
    struct kube_attempt *attempt = TAKE_PTR(claims->attempt); /* it has the result */
    bool wrote = claims->writing;
    claims->writing = false;
    const bool done = result->outcome == KUBE_DONE && (!wrote || is_stored(claims, result));
    if (is_seen(claims, result)) {
        claims->looking = false;
    } else if (done && wrote) {
        take(claims, result->object, true);
        set_sent(claims);
        options->written(options->context);
    } else if (done) {
        claims->looking = false;
        take_words(claims, result->object);
    } else if (result->outcome == KUBE_MISSING && !wrote) {
        take(claims, NULL, false);
        set_words(&claims->stored, NULL, NULL);
        options->read(options->context, NULL, "");
    } else {
        fail(claims, result->outcome == KUBE_DONE ? kube_not_so : result->why);
        claims->refused |= wrote;
        if (wrote)
            options->lost(options->context);
    }
    kube_attempt_free(attempt);
    options->board->wake(options->board->context);
}

/* Adds the namespace to the target. */
static void send(struct address_claims *claims, struct kube_write *write)
{
    char error[KUBE_ERROR_LEN] = "no memory";
    write->target.namespace = claims->options.board->config->election.namespace;
    claims->retry_ms = INT64_MAX;
    int r = kube_attempt_new(claims->options.board->client, write, ANSWER_MS, on_told, claims,
                             &claims->attempt);
    r = r < 0 ? r : kube_attempt_send(claims->attempt, error);
    if (r == 0)
        return;
    kube_attempt_free(TAKE_PTR(claims->attempt));
    fail(claims, error);
}

static void send_read(struct address_claims *claims)
{
    struct kube_write write = {
        .verb = KUBE_GET,
        .target = { .group = "", .version = "v1", .plural = "configmaps", .name = RECORD_NAME },
    };
    send(claims, &write);
}

static void send_create(struct address_claims *claims, const char *body)
{
    struct kube_write write = {
        .verb = KUBE_CREATE,
        .target = { .group = "", .version = "v1", .plural = "configmaps", .name = RECORD_NAME },
        .body = body,
        .brief = true,
    };
    send(claims, &write);
}

static void send_merge(struct address_claims *claims, const char *body)
{
    struct kube_write write = {
        .verb = KUBE_MERGE,
        .target = { .group = "", .version = "v1", .plural = "configmaps", .name = RECORD_NAME },
        .body = body,
        .brief = true,
    };
    send(claims, &write);
}

void address_claims_begin(struct address_claims *claims)
{
    address_claims_end(claims);
    send_read(claims);
}

bool address_claims_are_known(const struct address_claims *claims)
{
    return claims->known && !claims->attempt;
}

const char *address_claims_version(const struct address_claims *claims)
{
    return claims->version;
}

int address_claims_write(struct address_claims *claims, const char *state, const char *seen)
{
    AUTOTEXT struct text body = { 0 };
    struct json json = { .out = &body };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "ConfigMap");
    json_begin_object(&json, "metadata");
    json_string(&json, "namespace", claims->options.board->config->election.namespace);
    json_string(&json, "name", RECORD_NAME);
    if (*claims->version)
        json_string(&json, "resourceVersion", claims->version);
    json_end_object(&json);
    json_begin_object(&json, "data");
    json_string(&json, "state", state);
    json_string(&json, "seen", seen);
    json_end_object(&json);
    json_end_object(&json);
    if (text_error(&body) < 0)
        return -ENOMEM;
    claims->writing = true;
    set_words(&claims->sent, state, seen);
    if (*claims->version)
        send_merge(claims, text_str(&body));
    else
        send_create(claims, text_str(&body));
    if (!claims->attempt) {
        claims->refused = true;
        claims->options.lost(claims->options.context);
    }
    return 0;
}

void address_claims_work(struct address_claims *claims, int64_t now_ms)
{
    if (claims->attempt || now_ms < claims->retry_ms)
        return;
    claims->looking = claims->known;
    send_read(claims);
}

int64_t address_claims_next_ms(const struct address_claims *claims)
{
    return claims->attempt ? INT64_MAX : claims->retry_ms;
}

void address_claims_faults(const struct address_claims *claims, struct faults *faults)
{
    if (*claims->error && claims->unstored)
        fault_raise(faults, "ConfigMap " RECORD_NAME, controller_record_unstored);
    else if (*claims->error)
        fault_raise(faults, "ConfigMap " RECORD_NAME, controller_record_unwritten,
                    .reason = claims->error);
}
