// SPDX-License-Identifier: Apache-2.0
/*
 * Claims as Leases; see lease_store.h. Made by the part that claims addresses.
 *
 * A write is a create, or a merge patch that names the version it is based on, so that of two who
 * write one is refused. It is sent once; what a lost answer has done is found out by the next
 * reading.
 */
#include "segment/lease_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "client/kube_write.h"
#include "segment/lease_watch.h"

struct lease_store {
    sd_event *event;
    struct kube_client *client;
    struct lease_watch *watch; /* NULL: nobody watches */
    char *namespace;
};

struct claim_request {
    struct lease_store *store;
    struct kube_attempt *attempt;
    bool is_read;
    claim_told told;
    void *context;
};

static void request_free(struct claim_request *request)
{
    if (!request)
        return;
    kube_attempt_free(request->attempt);
    free(request);
}
DEFINE_CLEANUP(struct claim_request *, request_free);

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
        return request->is_read ? CLAIM_ABSENT : CLAIM_FAILED;
    case KUBE_REFUSED:
    case KUBE_LATER:
    case KUBE_UNCERTAIN:
        break;
    }
    return CLAIM_FAILED;
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
        .remedy = result->remedy,
    };
    if (answer.outcome == CLAIM_DONE) {
        const char *wrong = lease_read(result->object, &record, version);
        if (wrong) {
            answer.outcome = CLAIM_FAILED;
            answer.why = wrong;
            answer.remedy = "delete the Lease: the nodes make another";
        } else if (request->is_read) {
            answer.record = &record;
        }
    }
    request->told(request->context, &answer);
}

/* ---- Requests ---- */

static int send(struct lease_store *store, enum kube_verb verb, const struct claim_ask *ask,
                struct claim_request **ret_request)
{
    AUTOTEXT struct text body = { 0 };
    char error[KUBE_ERROR_LEN] = "";
    CLEANUP(request_freep) struct claim_request *request = calloc(1, sizeof(*request));
    if (!request)
        return -ENOMEM;
    request->store = store;
    request->is_read = verb == KUBE_GET;
    request->told = ask->told;
    request->context = ask->context;
    if (ask->wish)
        lease_write(ask->wish, store->namespace, ask->key, ask->version, LEASE_LABEL, &body);
    const struct kube_write write = {
        .verb = verb,
        .target = { .group = "coordination.k8s.io",
                    .version = "v1",
                    .plural = "leases",
                    .namespace = store->namespace,
                    .name = ask->key },
        .body = ask->wish ? text_str(&body) : NULL,
    };
    int r = text_error(&body);
    if (r == 0)
        r = kube_attempt_new(store->client, &write, ask->limit_ms, on_told, request,
                             &request->attempt);
    if (r == 0)
        r = kube_attempt_send(request->attempt, error);
    if (r == 0)
        *ret_request = TAKE_PTR(request);
    return r;
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
    return send(store, KUBE_MERGE, ask, ret_request);
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
