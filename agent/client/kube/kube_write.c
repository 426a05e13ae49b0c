// SPDX-License-Identifier: Apache-2.0
/*
 * One write to the Kubernetes API; used by kube_writer.c, and by the holder of a Lease.
 *
 * An attempt is one request at a time: first the write, then, if needed, reads of the object.
 * kube_verdict.c interprets the answers. A success is accepted only if the answer is the object
 * that was written (or, for a deletion, any JSON): a program in front of the API may answer 200 to
 * everything.
 */
#include "client/kube/kube_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/arena.h"
#include "base/text.h"
#include "client/kube/kube_refusal.h"
#include "client/kube/kube_verdict.h"
#include "format/json.h"
#include "format/reader.h"

const char kube_not_so[] = "the API answers that it was written, and it is not so";
const char kube_not_so_remedy[] =
    "see whether an admission webhook or policy takes it out (kubectl get "
    "mutatingwebhookconfigurations), and that nobody else answers in the API's place";

/* Of an answer. An object may have 1.5 MiB in etcd, and be larger with its managed fields. */
enum { ANSWER_MAX = 4 << 20 };

struct kube_attempt {
    struct kube_client *client;
    struct arena *arena;     /* owns the copies */
    struct kube_write write; /* its body is what is sent, also for a deletion */
    char *path;              /* of the write */
    char *object_path;       /* where the object is read */
    char *words;
    int64_t limit_ms;
    kube_attempt_told told;
    void *context;

    struct kube_request *request; /* NULL: none is under way */
    bool finding;                 /* the current request is a read */
    int status;
    int64_t retry_after_ms;
    struct text answer;
};

static const char metadata_alone[] =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

static const struct verb {
    const char *name, *method, *content_type;
} verbs[] = {
    [KUBE_GET] = { "get" },
    [KUBE_CREATE] = { "create", "POST", "application/json" },
    [KUBE_UPDATE] = { "update", "PUT", "application/json" },
    [KUBE_MERGE] = { "merge", "PATCH", "application/merge-patch+json" },
    [KUBE_TESTED] = { "test", "PATCH", "application/json-patch+json" },
    [KUBE_STRATEGIC] = { "patch", "PATCH", "application/strategic-merge-patch+json" },
    [KUBE_APPLY] = { "apply", "PATCH", "application/apply-patch+yaml" },
    [KUBE_DELETE] = { "delete", "DELETE", "application/json" },
};

const char *kube_verb_name(enum kube_verb verb)
{
    return verbs[verb].name;
}

const char *kube_outcome_name(enum kube_outcome outcome)
{
    static const char *const names[] = {
        [KUBE_DONE] = "done",           [KUBE_CONFLICT] = "conflict", [KUBE_EXISTS] = "exists",
        [KUBE_MISSING] = "missing",     [KUBE_REFUSED] = "refused",   [KUBE_LATER] = "later",
        [KUBE_UNCERTAIN] = "uncertain",
    };
    return names[outcome];
}

/* ---- The request ---- */

static void add_escaped(struct text *text, const char *before, const char *value)
{
    char *escaped = curl_easy_escape(NULL, value, 0);
    if (escaped)
        text_addf(text, "%s%s", before, escaped);
    else
        text->failed = true;
    curl_free(escaped);
}

/* The path of the collection. */
static void add_collection(struct text *path, const struct kube_target *target)
{
    text_addf(path, *target->group ? "/apis/%s/%s" : "/api%s/%s", target->group, target->version);
    if (target->namespace)
        add_escaped(path, "/namespaces/", target->namespace);
    text_addf(path, "/%s", target->plural);
}

static char *object_path_of(const struct kube_write *write)
{
    AUTOTEXT struct text path = { 0 };
    add_collection(&path, &write->target);
    if (!write->review)
        add_escaped(&path, "/", write->target.name);
    return text_take(&path);
}

static char *path_of(const struct kube_write *write)
{
    AUTOTEXT struct text path = { 0 };
    add_collection(&path, &write->target);
    if (write->verb != KUBE_CREATE)
        add_escaped(&path, "/", write->target.name);
    if (write->target.subresource)
        text_addf(&path, "/%s", write->target.subresource);
    if (write->verb == KUBE_APPLY || (write->verb == KUBE_STRATEGIC && write->manager))
        add_escaped(&path, "?fieldManager=", write->manager);
    if (write->verb == KUBE_APPLY)
        text_addf(&path, "&force=%s", write->force ? "true" : "false");
    return text_take(&path);
}

/* The preconditions of a deletion. */
static void add_delete_options(struct text *text, const struct kube_write *write)
{
    struct json json = { .out = text };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "DeleteOptions");
    json_begin_object(&json, "preconditions");
    json_string(&json, "uid", write->uid);
    if (write->version)
        json_string(&json, "resourceVersion", write->version);
    json_end_object(&json);
    json_end_object(&json);
}

static bool is_complete(const struct kube_write *write)
{
    const struct kube_target *target = &write->target;
    if (!target->group || !target->version || !target->plural)
        return false;
    if (!target->name && !(write->verb == KUBE_CREATE && write->review))
        return false;
    if (write->verb == KUBE_APPLY && !write->manager)
        return false;
    if (write->verb == KUBE_GET)
        return true;
    return write->verb == KUBE_DELETE ? write->uid != NULL : write->body != NULL;
}

static const char *copy(struct kube_attempt *attempt, const char *string, bool *failed)
{
    char *copied = string ? arena_strdup(attempt->arena, string) : NULL;
    *failed |= string && !copied;
    return copied;
}

static int keep(struct kube_attempt *attempt, const struct kube_write *write)
{
    AUTOTEXT struct text options = { 0 };
    bool failed = false;
    if (write->verb == KUBE_DELETE)
        add_delete_options(&options, write);
    const char *body = write->verb == KUBE_DELETE ? text_str(&options)
                       : write->verb == KUBE_GET  ? NULL
                                                  : write->body;
    attempt->arena = arena_new((body ? strlen(body) : 0) + 512);
    if (!attempt->arena || text_error(&options) < 0)
        return -ENOMEM;
    attempt->write = *write;
    attempt->write.body = copy(attempt, body, &failed);
    attempt->write.uid = copy(attempt, write->uid, &failed);
    attempt->write.version = copy(attempt, write->version, &failed);
    attempt->write.manager = copy(attempt, write->manager, &failed);
    attempt->write.target = (struct kube_target){
        .name = copy(attempt, write->target.name, &failed),
        .subresource = copy(attempt, write->target.subresource, &failed),
    };
    attempt->path = path_of(write);
    attempt->object_path = object_path_of(write);
    if (failed || !attempt->path || !attempt->object_path)
        return -ENOMEM;
    attempt->words = text_format("%s %s", verbs[write->verb].name, attempt->object_path);
    return attempt->words ? 0 : -ENOMEM;
}

int kube_attempt_new(struct kube_client *client, const struct kube_write *write, int64_t limit_ms,
                     kube_attempt_told told, void *context, struct kube_attempt **ret_attempt)
{
    if (!is_complete(write))
        return -EINVAL;
    CLEANUP(kube_attempt_freep) struct kube_attempt *attempt = calloc(1, sizeof(*attempt));
    if (!attempt)
        return -ENOMEM;
    attempt->client = client;
    attempt->limit_ms = limit_ms;
    attempt->told = told;
    attempt->context = context;
    int r = keep(attempt, write);
    if (r < 0)
        return r;
    *ret_attempt = TAKE_PTR(attempt);
    return 0;
}

const char *kube_attempt_words(const struct kube_attempt *attempt)
{
    return attempt->words;
}

void kube_attempt_free(struct kube_attempt *attempt)
{
    if (!attempt)
        return;
    kube_request_cancel(attempt->request);
    text_done(&attempt->answer);
    arena_free(attempt->arena);
    free(attempt->path);
    free(attempt->object_path);
    free(attempt->words);
    free(attempt);
}

/* ---- The outcome ---- */

static struct document *read_json(const char *bytes, size_t size)
{
    AUTOFAULTS struct faults ignored = { 0 };
    struct document *document = NULL;
    (void)document_parse(bytes, size, "", READER_JSON, &document, &ignored);
    return document;
}

static bool is_named(const struct doc *object, const char *name)
{
    const struct doc *node = doc_get(doc_get(object, "metadata"), "name");
    return node && node->type == DOC_SCALAR && strcmp(node->text, name) == 0;
}

/* Whether the answer to a successful request can only be from the API. */
static bool is_believed(const struct kube_attempt *attempt, const struct doc *object)
{
    const struct kube_write *write = &attempt->write;
    if (!object || object->type != DOC_MAP)
        return false;
    if (write->review)
        return doc_get(object, "status") != NULL;
    if (write->verb == KUBE_DELETE && !attempt->finding)
        return doc_get(object, "kind") != NULL;
    return is_named(object, write->target.name);
}

/* For an attempt that reads: the outcome of the write. */
static enum kube_outcome found(const struct kube_attempt *attempt, const struct doc *object)
{
    const struct kube_write *write = &attempt->write;
    if (attempt->status == 404 && object && doc_get(object, "reason"))
        return kube_verdict_absent(write->verb); /* if the API says so, and no proxy in between */
    if (attempt->status != 200)
        return KUBE_UNCERTAIN;
    CLEANUP(document_freep)
    struct document *sent = read_json(write->body, strlen(write->body));
    return sent ? kube_verdict_found(write, sent->root, object) : KUBE_UNCERTAIN;
}

static enum kube_outcome judge(const struct kube_attempt *attempt, const struct doc *object)
{
    enum kube_outcome outcome = kube_verdict_of(attempt->write.verb, attempt->status, object);
    if (outcome == KUBE_DONE && !is_believed(attempt, object))
        return KUBE_UNCERTAIN;
    return attempt->finding ? found(attempt, object) : outcome;
}

static const char not_the_api[] = "what answers is not the API, or was cut off";

static const char *remedy_for(const struct kube_attempt *attempt, enum kube_outcome outcome,
                              char why[static KUBE_ERROR_LEN])
{
    static const char leave[] = "allow it what it writes (RBAC): deploy/kubernetes/rbac.yaml";
    bool success = attempt->status >= 200 && attempt->status < 300;
    const char *words = "";
    if (outcome == KUBE_DONE)
        words = "";
    else if (success && (outcome == KUBE_UNCERTAIN || !attempt->finding))
        words = not_the_api;
    else if (attempt->finding && outcome == KUBE_LATER)
        words = "an earlier attempt was lost: it is made again";
    else if (attempt->finding && outcome != KUBE_UNCERTAIN)
        words = "an earlier attempt was lost, and the object is another by now";
    else
        return kube_refusal_read(attempt->status, &attempt->answer, leave, why);
    (void)snprintf(why, KUBE_ERROR_LEN, "%s", words);
    return words == not_the_api ? "ask who it is that answers, as a proxy or a page to log in may "
                                  "do: curl -k SERVER/version, with server: of the kubeconfig"
                                : NULL;
}

/* Ends with an answer, good or not. */
static void tell_answer(struct kube_attempt *attempt)
{
    char why[KUBE_ERROR_LEN];
    CLEANUP(document_freep)
    struct document *document = read_json(text_str(&attempt->answer), attempt->answer.length);
    const struct doc *object = document ? document->root : NULL;
    enum kube_outcome outcome = judge(attempt, object);
    bool gone = attempt->write.verb == KUBE_DELETE || attempt->status >= 300;
    if (outcome == KUBE_UNCERTAIN && (attempt->write.repeatable || attempt->write.verb == KUBE_GET))
        outcome = KUBE_LATER;
    const char *remedy = remedy_for(attempt, outcome, why);
    const struct kube_result result = {
        .outcome = outcome,
        .status = attempt->status,
        .why = why,
        .remedy = remedy,
        .retry_after_ms = attempt->retry_after_ms,
        .object = outcome == KUBE_DONE && !gone ? object : NULL,
    };
    attempt->told(attempt->context, &result);
}

/* Ends without a complete answer. A refusal whose text was truncated is still a refusal. */
static void tell_failure(struct kube_attempt *attempt, bool sent, const char *error,
                         const char *remedy)
{
    char why[KUBE_ERROR_LEN];
    (void)snprintf(why, sizeof(why), "%s", error);
    kube_refusal_clean(why);
    bool harmless = attempt->write.repeatable || attempt->write.verb == KUBE_GET;
    bool unknown = (sent && !harmless) || attempt->finding;
    const struct kube_result result = {
        .outcome = unknown ? KUBE_UNCERTAIN : KUBE_LATER,
        .why = why,
        .remedy = remedy,
    };
    attempt->told(attempt->context, &result);
}

static void on_started(void *context, int status, int64_t retry_after_ms)
{
    struct kube_attempt *attempt = context;
    attempt->status = status;
    attempt->retry_after_ms = retry_after_ms;
}

static int on_data(void *context, const char *bytes, size_t size)
{
    struct kube_attempt *attempt = context;
    if (attempt->answer.length + size > ANSWER_MAX)
        return -EMSGSIZE;
    text_add_bytes(&attempt->answer, bytes, size);
    return text_error(&attempt->answer);
}

static void on_ended(void *context, const char *error, const char *remedy)
{
    struct kube_attempt *attempt = context;
    bool sent = kube_request_was_sent(attempt->request);
    attempt->request = NULL;
    if (error && (attempt->status < 400 || attempt->status >= 500))
        tell_failure(attempt, sent, error, remedy);
    else
        tell_answer(attempt);
}

static int begin(struct kube_attempt *attempt, const struct kube_call *call,
                 char error[static KUBE_ERROR_LEN])
{
    static const struct kube_handler handler = { on_started, on_data, on_ended };
    attempt->status = 0;
    attempt->retry_after_ms = 0;
    text_done(&attempt->answer);
    return kube_client_send(attempt->client, call, &handler, attempt, &attempt->request, error);
}

int kube_attempt_send(struct kube_attempt *attempt, char error[static KUBE_ERROR_LEN])
{
    const struct verb *verb = &verbs[attempt->write.verb];
    const struct kube_call call = {
        .method = verb->method,
        .path = attempt->path,
        .content_type = verb->content_type,
        .accept = attempt->write.brief ? metadata_alone : NULL,
        .body = attempt->write.body,
        .limit_ms = attempt->limit_ms,
    };
    return begin(attempt, &call, error);
}

int kube_attempt_find(struct kube_attempt *attempt, char error[static KUBE_ERROR_LEN])
{
    const struct kube_call call = { .path = attempt->object_path, .limit_ms = attempt->limit_ms };
    attempt->finding = true;
    return begin(attempt, &call, error);
}
