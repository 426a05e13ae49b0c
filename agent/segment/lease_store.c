// SPDX-License-Identifier: Apache-2.0
/*
 * Claims as Leases; see lease_store.h. Made by the part that claims addresses.
 *
 * A write is a create, or a patch that names the version it is based on, so that of two concurrent
 * writes one is refused. An API whose etcd was restored from a backup may assign a version again,
 * to another write; so the patch tests holder and time as well. It does not test those of a Lease
 * that was written by hand, and converts it to our format: such a Lease is not renewed. A write is
 * sent once; if its answer is lost, the next read finds the outcome. A deletion names the uid as
 * well as the version, so it reads the Lease before; if it hits a newer record, its holder creates
 * the Lease again, and no other node may take it for a duration.
 */
#include "segment/lease_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "client/kube/kube_refusal.h"
#include "client/kube/kube_write.h"
#include "segment/lease_watch.h"

struct lease_store {
    sd_event *event;
    struct kube_client *client;
    struct lease_watch *watch; /* NULL: there is no watch */
    char *namespace;
};

struct claim_request {
    struct lease_store *store;
    struct kube_attempt *attempt;
    enum kube_verb verb; /* KUBE_DELETE: preceded by a read */
    char *key;           /* of a removal */
    char version[LEASE_VERSION_MAX];
    int64_t limit_ms;
    claim_told told;
    void *context;
};

static void request_free(struct claim_request *request)
{
    if (!request)
        return;
    kube_attempt_free(request->attempt);
    free(request->key);
    free(request);
}
DEFINE_CLEANUP(struct claim_request *, request_free);

static const char rights[] = "apply deploy/kubernetes/addresses.yaml: the agents' rights to Leases";

/* ---- Answers ---- */

static enum claim_outcome outcome_of(const struct claim_request *request, enum kube_outcome outcome)
{
    switch (outcome) {
    case KUBE_DONE:
        return CLAIM_DONE;
    case KUBE_CONFLICT:
    case KUBE_EXISTS:
        return CLAIM_CONFLICT;
    case KUBE_MISSING:
        return request->verb == KUBE_GET || request->verb == KUBE_DELETE ? CLAIM_ABSENT
                                                                         : CLAIM_FAILED;
    case KUBE_REFUSED:
    case KUBE_LATER:
    case KUBE_UNCERTAIN:
        break;
    }
    return CLAIM_FAILED;
}

static bool is_refusal(const struct kube_result *result)
{
    return (result->status >= 400 && result->status < 500) || result->retry_after_ms ||
           strstr(result->why, "database space exceeded");
}

static void on_told(void *context, const struct kube_result *result)
{
    CLEANUP(request_freep) struct claim_request *request = context;
    const struct lease_watch *watch = request->store->watch;
    struct lease_record record;
    char version[LEASE_VERSION_MAX] = "";
    struct claim_answer answer = {
        .outcome = outcome_of(request, result->outcome),
        .version = version,
        .since_ms = watch ? lease_watch_since_ms(watch) : INT64_MAX,
        .why = result->why,
        .remedy = result->status == 403 && !kube_refusal_by_admission(result->why) ? rights
                                                                                   : result->remedy,
        .refused = is_refusal(result),
        .retry_after_ms = result->retry_after_ms,
    };
    if (answer.outcome == CLAIM_DONE && request->verb != KUBE_DELETE) {
        const char *wrong = lease_read(result->object, &record, version);
        if (wrong) {
            answer.outcome = CLAIM_FAILED;
            answer.why = wrong;
            answer.remedy = "delete the Lease: the nodes make another";
        } else if (request->verb == KUBE_GET) {
            answer.record = &record;
        }
    }
    request->told(request->context, &answer);
}

/* ---- Requests ---- */

static struct kube_target target_of(const struct lease_store *store, const char *key)
{
    return (struct kube_target){
        .group = "coordination.k8s.io",
        .version = "v1",
        .plural = "leases",
        .namespace = store->namespace,
        .name = key,
    };
}

static struct claim_request *request_new(struct lease_store *store, enum kube_verb verb,
                                         const struct claim_ask *ask)
{
    struct claim_request *request = calloc(1, sizeof(*request));
    if (!request)
        return NULL;
    request->store = store;
    request->verb = verb;
    request->told = ask->told;
    request->context = ask->context;
    return request;
}

static int send(struct lease_store *store, enum kube_verb verb, const struct claim_ask *ask,
                struct claim_request **ret_request)
{
    AUTOTEXT struct text body = { 0 };
    char error[KUBE_ERROR_LEN] = "";
    CLEANUP(request_freep) struct claim_request *request = request_new(store, verb, ask);
    if (!request)
        return -ENOMEM;
    if (verb == KUBE_TESTED)
        lease_patch(ask->desired, ask->over, ask->version, &body);
    else if (ask->desired)
        lease_write(ask->desired, store->namespace, ask->key, ask->version, LEASE_LABEL, &body);
    const struct kube_write write = {
        .verb = verb,
        .target = target_of(store, ask->key),
        .body = ask->desired ? text_str(&body) : NULL,
    };
    int r = text_error(&body);
    if (r < 0)
        return r;
    r = kube_attempt_new(store->client, &write, ask->limit_ms, on_told, request, &request->attempt);
    if (r < 0)
        return r;
    r = kube_attempt_send(request->attempt, error);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

static int read_lease(void *store, const struct claim_ask *ask, struct claim_request **ret_request)
{
    return send(store, KUBE_GET, ask, ret_request);
}

static int create_lease(void *store, const struct claim_ask *ask,
                        struct claim_request **ret_request)
{
    return send(store, KUBE_CREATE, ask, ret_request);
}

static int write_lease(void *store, const struct claim_ask *ask, struct claim_request **ret_request)
{
    const bool is_tested = ask->over && !ask->over->foreign;
    return send(store, is_tested ? KUBE_TESTED : KUBE_MERGE, ask, ret_request);
}

/* ---- Removals ---- */

static int send_delete(struct claim_request *request, const char *uid)
{
    char error[KUBE_ERROR_LEN] = "";
    const struct kube_write write = {
        .verb = KUBE_DELETE,
        .target = target_of(request->store, request->key),
        .uid = uid,
        .version = request->version,
    };
    kube_attempt_free(TAKE_PTR(request->attempt));
    int r = kube_attempt_new(request->store->client, &write, request->limit_ms, on_told, request,
                             &request->attempt);
    return r < 0 ? r : kube_attempt_send(request->attempt, error);
}

/* The Lease as read: what is deleted has to be the version that was seen. */
static void on_found(void *context, const struct kube_result *result)
{
    struct claim_request *request = context;
    const struct doc *metadata = doc_get(result->object, "metadata");
    const struct doc *uid = doc_get(metadata, "uid"),
                     *version = doc_get(metadata, "resourceVersion");
    struct kube_result told = *result;
    bool is_same = uid && uid->type == DOC_SCALAR && version && version->type == DOC_SCALAR &&
                   strcmp(version->text, request->version) == 0;
    if (result->outcome == KUBE_DONE && is_same) {
        int r = send_delete(request, uid->text);
        if (r == 0)
            return;
        told = (struct kube_result){ .outcome = KUBE_LATER, .why = strerror(-r) };
    } else if (result->outcome == KUBE_DONE) {
        told = (struct kube_result){ .outcome = KUBE_CONFLICT, .why = "" };
    }
    on_told(request, &told);
}

static int remove_lease(void *data, const struct claim_ask *ask, struct claim_request **ret_request)
{
    struct lease_store *store = data;
    char error[KUBE_ERROR_LEN] = "";
    CLEANUP(request_freep) struct claim_request *request = request_new(store, KUBE_DELETE, ask);
    if (!request)
        return -ENOMEM;
    request->key = strdup(ask->key);
    request->limit_ms = ask->limit_ms;
    (void)snprintf(request->version, sizeof(request->version), "%s", ask->version);
    if (!request->key)
        return -ENOMEM;
    const struct kube_write read = { .verb = KUBE_GET, .target = target_of(store, request->key) };
    int r =
        kube_attempt_new(store->client, &read, ask->limit_ms, on_found, request, &request->attempt);
    if (r < 0)
        return r;
    r = kube_attempt_send(request->attempt, error);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

static int watch_leases(void *data, const struct claim_listener *listener)
{
    struct lease_store *store = data;
    return lease_watch_new(store->event, store->client, store->namespace, listener, &store->watch);
}

/* ---- Life ---- */

static void store_end(void *data)
{
    struct lease_store *store = data;
    if (!store)
        return;
    lease_watch_free(store->watch);
    kube_client_free(store->client);
    free(store->namespace);
    free(store);
}

static void store_endp(struct lease_store **store)
{
    store_end(*store);
}

static const struct claim_store_ops lease_ops = {
    .name = "Lease",
    .read = read_lease,
    .create = create_lease,
    .update = write_lease,
    .release = write_lease,
    .remove = remove_lease,
    .cancel = request_free,
    .watch = watch_leases,
    .free = store_end,
};

int lease_store_new(sd_event *event, struct kube_config *config, const char *namespace,
                    struct claim_store *ret_store)
{
    CLEANUP(store_endp) struct lease_store *store = calloc(1, sizeof(*store));
    if (!store) {
        kube_config_free(config);
        return -ENOMEM;
    }
    store->event = event;
    int r = kube_client_new(event, config, &store->client);
    if (r < 0)
        return r;
    store->namespace = strdup(namespace);
    if (!store->namespace)
        return -ENOMEM;
    *ret_store = (struct claim_store){ &lease_ops, TAKE_PTR(store) };
    return 0;
}
