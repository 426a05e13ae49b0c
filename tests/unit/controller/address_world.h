/* SPDX-License-Identifier: Apache-2.0 */
/* The job of addresses with an API that keeps the record of claims and the status of Services. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "controller/pools/address_inside.h"
#include "controller/pools/address_job.h"
#include "fake_api.h"
#include "format/reader.h"

#include "cmocka_all.h"
#include "run_until.h"

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct kube_client *client;
    struct controller_config config;
    struct controller_status status;
    struct elector *elector;
    struct store *store;
    struct board board;
    struct job *job;

    unsigned version;        /* of whatever was written last */
    bool has_record;         /* the ConfigMap is there */
    struct text record;      /* its data, as JSON */
    unsigned record_version; /* its resourceVersion; 0: `version` */
    unsigned unstored;       /* so many writes of the record are answered as done, and are not */
    unsigned conflicts;      /* so many writes of the record are refused with 409 */
    const char *refused;     /* a Service whose status may not be written */
    struct text events;      /* what was asked to be created */
    struct text removal;     /* the last status that took our condition off */
    enum {
        HONEST,
        CONFLICTS, /* 409 to each write of a status */
        GARBAGE,   /* 200, and no JSON */
        BUSY,      /* 429 with `Retry-After` */
        UNSTORED,  /* 200 with what was sent, and it is not stored */
    } lie;
    bool unheard;     /* the source does not tell of what is written to pools */
    bool woken, told; /* a round is due; the job knows that it leads */
};

/* ---- The objects ---- */

static inline void put(struct fixture *fx, const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "", READER_YAML, &document, &faults), 1);
    if (object_decode(document, &object, NULL, &faults, &faults) != 1)
        fail_msg("%s: %s", yaml, faults.list.count ? faults.list.items[0].message : "");
    assert_true(store_put(fx->store, "test", object) >= 0);
    fx->woken = true;
}

/* The pool "lb" has 203.0.113.0/29, any other one 198.51.100.0/29. */
static inline void put_pool_status(struct fixture *fx, const char *name, const char *status)
{
    AUTOFREE char *yaml = text_format(
        "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: %s, namespace: "
        "lb}, spec: {addresses: [%s/29]}, status: %s}",
        name, strcmp(name, "lb") == 0 ? "203.0.113.0" : "198.51.100.0", status);
    put(fx, yaml);
}

static inline void put_pool(struct fixture *fx)
{
    put_pool_status(fx, "lb", "{}");
}

static inline void put_status(struct fixture *fx, const char *name, const char *status)
{
    struct kube_kind_status *kind = &fx->status.source.kube.kinds[0];
    (void)snprintf(kind->resource_version, sizeof(kind->resource_version), "%u", ++fx->version);
    AUTOFREE char *yaml =
        text_format("{apiVersion: v1, kind: Service, metadata: {name: %s, uid: u-%s, "
                    "resourceVersion: '%u'}, spec: {type: LoadBalancer, clusterIP: 10.96.0.1, "
                    "ports: [{port: 80}]}, status: %s}",
                    name, name, fx->version, status);
    put(fx, yaml);
}

static inline void put_service(struct fixture *fx, const char *name)
{
    put_status(fx, name, "{}");
}

static inline void take_out(struct fixture *fx, enum kind kind, const char *name)
{
    const char *namespace = kind == KIND_IP_POOL ? "lb" : "default";
    assert_int_equal(store_remove(fx->store, "test", kind, namespace, name), 1);
    fx->woken = true;
}

static inline bool has(const struct fixture *fx, const char *name, const char *address)
{
    struct ip ip;
    const struct object *object = store_get(fx->store, KIND_SERVICE, "default", name);
    assert_int_equal(ip_parse(address, &ip), 0);
    return object && address_is_told(to_service(object), &ip);
}

/* ---- The API ---- */

/* The value of a member that the body ends with, but for closing brackets. */
static inline char *last_member(const struct fake_peer *peer, const char *key)
{
    const char *body = fake_peer_body(peer), *found = strstr(body, key);
    if (!found)
        fail_msg("no %s in %s %s: %s", key, peer->method, peer->path, body);
    found += strlen(key);
    return strndup(found, strlen(found) - 1);
}

static inline void answer_record(struct fixture *fx, struct fake_peer *peer)
{
    AUTOFREE char *body =
        text_format("{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"fingerpost-addresses\","
                    "\"resourceVersion\":\"%u\"},\"data\":%s}",
                    fx->record_version ? fx->record_version : fx->version, text_str(&fx->record));
    fake_peer_answer(peer, 200, NULL, body);
}

static inline void answer_failure(struct fake_peer *peer, int status, const char *reason)
{
    AUTOFREE char *body =
        text_format("{\"kind\":\"Status\",\"reason\":\"%s\",\"message\":\"no\"}", reason);
    fake_peer_answer(peer, status, NULL, body);
}

static inline void on_record(struct fixture *fx, struct fake_peer *peer)
{
    if (strcmp(peer->method, "GET") == 0 && !fx->has_record) {
        answer_failure(peer, 404, "NotFound");
    } else if (strcmp(peer->method, "GET") != 0 && fx->conflicts > 0) {
        fx->conflicts--;
        answer_failure(peer, 409, "Conflict");
    } else {
        if (strcmp(peer->method, "GET") != 0 && fx->unstored > 0) {
            fx->unstored--;
        } else if (strcmp(peer->method, "GET") != 0) {
            AUTOFREE char *data = last_member(peer, "\"data\":");
            text_done(&fx->record);
            text_add(&fx->record, data);
            fx->has_record = true;
            fx->version++;
        }
        answer_record(fx, peer);
    }
}

/* Whether a lost write was done: it was not. */
static inline void on_question(struct fixture *fx, struct fake_peer *peer, const char *name)
{
    AUTOFREE char *body = text_format(
        "{\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%u\"}}", name,
        fx->version);
    fake_peer_answer(peer, 200, NULL, body);
}

static inline void lie_of_status(struct fixture *fx, struct fake_peer *peer)
{
    switch (fx->lie) {
    case CONFLICTS:
        answer_failure(peer, 409, "Conflict");
        break;
    case GARBAGE:
        fake_peer_answer(peer, 200, NULL, "<html>");
        break;
    case BUSY:
        fake_peer_answer(peer, 429, "Retry-After: 3\r\n", "");
        break;
    default:
        fake_peer_answer(peer, 200, NULL, fake_peer_body(peer));
        break;
    }
}

/* "/api/v1/namespaces/default/services/NAME/status?..." */
static inline void on_status(struct fixture *fx, struct fake_peer *peer)
{
    char name[64];
    assert_int_equal(sscanf(peer->path, "/api/v1/namespaces/default/services/%63[^/]/status", name),
                     1);
    if (fx->refused && strcmp(fx->refused, name) == 0) {
        answer_failure(peer, 403, "Forbidden");
        return;
    }
    if (strcmp(peer->method, "GET") == 0) {
        on_question(fx, peer, name);
        return;
    }
    if (fx->lie != HONEST) {
        lie_of_status(fx, peer);
        return;
    }
    AUTOFREE char *status = last_member(peer, "\"status\":{");
    AUTOFREE char *whole = text_format("{%s", status);
    if (strstr(status, "$patch")) {
        text_done(&fx->removal);
        text_add(&fx->removal, status);
        fake_peer_answer(peer, 200, NULL, fake_peer_body(peer));
        return;
    }
    put_status(fx, name, whole);
    fake_peer_answer(peer, 200, NULL, fake_peer_body(peer));
}

/* ".../ipaddresspools/NAME/status?..." */
static inline void on_pool(struct fixture *fx, struct fake_peer *peer)
{
    char name[64];
    const char *found = strstr(peer->path, "/ipaddresspools/");
    assert_int_equal(sscanf(found, "/ipaddresspools/%63[^/]/status", name), 1);
    AUTOFREE char *status = last_member(peer, "\"status\":");
    if (!fx->unheard)
        put_pool_status(fx, name, status);
    fake_peer_answer(peer, 200, NULL, fake_peer_body(peer));
}

static inline void on_event(struct fixture *fx, struct fake_peer *peer)
{
    text_add(&fx->events, fake_peer_body(peer));
    fake_peer_answer(peer, 201, NULL, fake_peer_body(peer));
}

/* This one holds the Lease, for a minute. */
static inline void on_lease(struct fake_peer *peer)
{
    if (strcmp(peer->method, "GET") == 0) {
        answer_failure(peer, 404, "NotFound");
        return;
    }
    char holder[128];
    const char *found = strstr(fake_peer_body(peer), "\"holderIdentity\":");
    assert_non_null(found);
    assert_int_equal(sscanf(found, "\"holderIdentity\":\"%127[^\"]", holder), 1);
    AUTOFREE char *body =
        text_format("{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"1\"},"
                    "\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":60}}",
                    holder);
    fake_peer_answer(peer, 201, NULL, body);
}

static inline void on_asked(struct fake_peer *peer, void *context)
{
    struct fixture *fx = context;
    if (strstr(peer->path, "/leases"))
        on_lease(peer);
    else if (strstr(peer->path, "/configmaps"))
        on_record(fx, peer);
    else if (strstr(peer->path, "/services/"))
        on_status(fx, peer);
    else if (strstr(peer->path, "/ipaddresspools/"))
        on_pool(fx, peer);
    else if (strstr(peer->path, "/events"))
        on_event(fx, peer);
    else
        fake_peer_answer(peer, 200, NULL, fake_peer_body(peer));
}

/* ---- Rounds ---- */

static inline void wake(void *context)
{
    ((struct fixture *)context)->woken = true;
}

/* What the controller does when it was woken, or work is due. Returns true, for conditions. */
static inline bool turn(struct fixture *fx)
{
    const struct job_ops *ops = &address_job_ops;
    bool leads = elector_leads(fx->elector);
    if (leads != fx->told)
        ops->lead(fx->job, fx->told = leads);
    int64_t now_ms = clock_mono_ms();
    fx->woken |= ops->next_ms(fx->job, now_ms) <= now_ms;
    while (fx->woken) {
        AUTOVEC change_list changes = { 0 };
        fx->woken = false;
        assert_int_equal(store_changes(fx->store, &changes), 0);
        vec_each(const struct change, change, &changes)
            assert_int_equal(ops->note(fx->job, change), 0);
        const struct job_round round = { clock_mono_ms(), false };
        if (leads)
            assert_int_equal(ops->work(fx->job, &round), 0);
        store_changes_done(fx->store);
    }
    return true;
}

#define run_job(fx, condition) run_until(fx, turn(fx) && (condition))

static inline size_t count_of(const struct fixture *fx, const char *request)
{
    size_t count = 0;
    for (const char *at = text_str(&fx->api.heard); (at = strstr(at, request)); at++)
        count++;
    return count;
}

/* All that was asked for has been answered. */
static inline bool is_quiet(const struct fixture *fx)
{
    struct job_status status = { 0 };
    job_publish(fx->job, &status);
    return !fx->woken && status.writes.running == 0 && status.counts[4].value == 0;
}

static inline const struct known_fault *fault_of(const struct fixture *fx, const char *place)
{
    for (size_t i = 0; i < fault_book_count(fx->status.faults); i++) {
        const struct known_fault *fault = fault_book_at(fx->status.faults, i);
        if (strcmp(fault->place, place) == 0)
            return fault;
    }
    return NULL;
}

/* ---- The beginning ---- */

static inline void open_elector(struct fixture *fx)
{
    static char namespace[] = "n", name[] = "l", identity[] = "me", class_name[] = "";
    fx->config.election.namespace = namespace;
    fx->config.election.name = name;
    fx->config.election.identity = identity;
    fx->config.election.lease_ms = 60000;
    fx->config.election.renew_ms = 50000;
    fx->config.election.retry_ms = 30000;
    fx->config.addresses.enabled = true;
    fx->config.addresses.load_balancer_class = class_name;
    const struct elector_options options = {
        .event = fx->event,
        .client = fx->client,
        .config = &fx->config,
        .status = &fx->status.election,
        .faults = fx->status.faults,
        .changed = wake,
        .context = fx,
    };
    assert_int_equal(elector_new(&options, &fx->elector), 0);
}

static inline int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_true(sd_event_new(&fx->event) >= 0);
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = strdup(fx->api.url);
    assert_int_equal(kube_client_new(fx->event, config, &fx->client), 0);
    fx->status.faults = fault_book_new();
    fx->store = store_new();
    fx->status.source.synced = true;
    fx->status.source.kube.kinds[0].kind = "Service";
    fx->status.source.kube.count = 1;
    open_elector(fx);
    fx->board = (struct board){
        .event = fx->event,
        .config = &fx->config,
        .store = fx->store,
        .client = fx->client,
        .elector = fx->elector,
        .status = &fx->status,
        .faults = fx->status.faults,
        .wake = wake,
        .context = fx,
    };
    assert_int_equal(job_open(&address_job_ops, &fx->board, &fx->job), 0);
    *state = fx;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *fx = *state;
    job_close(fx->job);
    elector_free(fx->elector);
    kube_client_free(fx->client);
    fake_api_done(&fx->api);
    store_free(fx->store);
    fault_book_free(fx->status.faults);
    sd_event_unref(fx->event);
    text_done(&fx->record);
    text_done(&fx->removal);
    text_done(&fx->events);
    free(fx);
    return 0;
}
