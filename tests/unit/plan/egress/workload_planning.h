/* SPDX-License-Identifier: Apache-2.0 */
/* Egresses and what is made for them, in a store, and what is planned of it. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "format/reader.h"
#include "plan/egress/workload.h"

#define IMAGE "example.com/fingerpost:1"

struct workloads {
    struct store *store;
    uint32_t allowed;          /* to templates */
    struct workload_mark mark; /* of what is asked about */
    struct text body;
    struct workload_plan plan;
};

static inline int workloads_begin(void **state)
{
    struct workloads *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    fx->store = store_new();
    assert_non_null(fx->store);
    *state = fx;
    return 0;
}

static inline int workloads_end(void **state)
{
    struct workloads *fx = *state;
    text_done(&fx->body);
    store_free(fx->store);
    free(fx);
    return 0;
}

static inline void tell(struct workloads *fx, enum kind kind, const char *rest)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    AUTOFREE char *yaml =
        text_format("apiVersion: %s\nkind: %s\n%s", kind_api_version(kind), kind_name(kind), rest);
    assert_int_equal(document_parse(yaml, strlen(yaml), "t", READER_YAML, &document, &faults), 1);
    if (object_decode_as(document, kind, &object, &faults, &faults) != 1)
        fail_msg("%s\n%s", faults.list.count ? faults.list.items[0].message : "?", yaml);
    assert_true(store_put(fx->store, "t", object) >= 0);
}

/* The Egress net/nat, of uid e1; `spec`: what it says beside its destinations. */
static inline void tell_egress(struct workloads *fx, const char *spec)
{
    AUTOFREE char *rest = text_format("metadata: {name: nat, namespace: net, uid: e1}\n"
                                      "spec: {destinations: [0.0.0.0/0]%s%s}\n",
                                      *spec ? ", " : "", spec);
    tell(fx, KIND_EGRESS, rest);
}

#define OWNED(owner) \
    "ownerReferences: [{kind: Egress, name: nat, uid: " owner ", controller: true}]"
#define LABELS(instance)                                                           \
    "labels: {app.kubernetes.io/name: coil, app.kubernetes.io/component: egress, " \
    "app.kubernetes.io/instance: " instance "}"
#define NAMED "name: nat, namespace: net, uid: d1, resourceVersion: '7'"

static const struct workload_key deployment = { KIND_DEPLOYMENT, "net", "nat" };
static const struct workload_key service = { KIND_SERVICE, "net", "nat" };
static const struct workload_key budget = { KIND_DISRUPTION_BUDGET, "net", "nat" };
static const struct workload_key account = { KIND_SERVICE_ACCOUNT, "net", WORKLOAD_ACCOUNT };
static const struct workload_key binding = { KIND_ROLE_BINDING, "", WORKLOAD_BINDING };

static inline void plan(struct workloads *fx, const struct workload_key *key)
{
    text_truncate(&fx->body, 0);
    const struct workload_settings settings = { IMAGE, fx->allowed };
    assert_int_equal(plan_workload(fx->store, key, &settings, &fx->mark, &fx->body, &fx->plan), 0);
}

static inline void assert_step(struct workloads *fx, const struct workload_key *key,
                               enum workload_step step)
{
    plan(fx, key);
    if (fx->plan.step != step)
        fail_msg("step %d, not %d: %s", fx->plan.step, step, fx->plan.why ? fx->plan.why : "");
}

static inline void assert_body(struct workloads *fx, const struct workload_key *key,
                               const char *expected)
{
    assert_step(fx, key, WORKLOAD_APPLY);
    assert_string_equal(text_str(&fx->body), expected);
}

static inline void assert_has(struct workloads *fx, const char *part)
{
    if (!strstr(text_str(&fx->body), part))
        fail_msg("%s\nis not in %s", part, text_str(&fx->body));
}

static inline void assert_lacks(struct workloads *fx, const char *part)
{
    if (strstr(text_str(&fx->body), part))
        fail_msg("%s\nis in %s", part, text_str(&fx->body));
}
