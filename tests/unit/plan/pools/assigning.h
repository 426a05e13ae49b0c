/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and Services given as YAML, in a store, and the addresses that the Services have. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "format/reader.h"
#include "plan/pools/assignment.h"

enum { NOW = 1000000, REST = 60000 };

struct fixture {
    struct store *store;
    struct assignments assignments;
    int64_t now_ms;
};

static inline int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    fx->store = store_new();
    assert_non_null(fx->store);
    assignments_init(&fx->assignments);
    fx->now_ms = NOW;
    *state = fx;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *fx = *state;
    assignments_done(&fx->assignments);
    store_free(fx->store);
    free(fx);
    return 0;
}

static inline void put(struct store *store, const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "", READER_YAML, &document, &faults), 1);
    if (object_decode(document, &object, NULL, &faults, &faults) != 1)
        fail_msg("%s: %s", yaml, faults.list.count ? faults.list.items[0].message : "");
    assert_true(store_put(store, "test", object) >= 0);
}

static inline void put_pool(struct store *store, const char *name, const char *spec)
{
    AUTOFREE char *yaml = text_format("{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, "
                                      "metadata: {name: %s, namespace: lb}, spec: {%s}}",
                                      name, spec);
    put(store, yaml);
}

static inline void put_service(struct store *store, const char *name, const char *annotations,
                               const char *spec)
{
    AUTOFREE char *yaml = text_format(
        "{apiVersion: v1, kind: Service, metadata: {name: %s, annotations: {%s}}, spec: {type: "
        "LoadBalancer, clusterIP: 10.96.0.1, %s}}",
        name, annotations, *spec ? spec : "ports: [{port: 80}]");
    put(store, yaml);
}

/* A Service that asks for nothing, with this status. */
static inline void put_status(struct store *store, const char *name, const char *status)
{
    AUTOFREE char *yaml = text_format(
        "{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {type: LoadBalancer, "
        "clusterIP: 10.96.0.1, ports: [{port: 80}]}, status: {%s}}",
        name, status);
    put(store, yaml);
}

static inline void take_out(struct store *store, const char *name)
{
    assert_true(store_remove(store, "test", KIND_SERVICE, "default", name) >= 0);
}

static inline void update_of(struct assignments *assignments, const struct store *store,
                             int64_t now_ms, const struct assignment_scope *scope)
{
    CLEANUP(pool_table_done) struct pool_table pools = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(pool_table_make(store, &pools, &faults), 0);
    const struct assignment_inputs inputs = { store, &pools, "", now_ms, REST };
    assert_int_equal(assignments_update(assignments, &inputs, scope, NULL, NULL), 0);
}

static inline void update(struct fixture *fx, const char *name)
{
    const struct assignment_key key = { "default", name };
    update_of(
        &fx->assignments, fx->store, fx->now_ms,
        &(struct assignment_scope){ .all = name == NULL, .keys = &key, .count = name != NULL });
}

static inline void add_row(struct text *text, const struct assignment *row)
{
    char buffer[IP_STRLEN];
    text_addf(text, "%s", row->name);
    vec_each(const struct ip, ip, &row->ips)
        text_addf(text, " %s", ip_str(ip, buffer));
    for (size_t i = 0; i < ARRAY_SIZE(row->lacks); i++) {
        if (row->lacks[i].reason)
            text_addf(text, " %s", lack_reason_name(row->lacks[i].reason));
    }
    text_add(text, "; ");
}

static inline void add_all(struct text *text, const struct assignments *assignments)
{
    char buffer[IP_STRLEN];
    for (size_t i = 0; i < assignments->rows.count; i++)
        add_row(text, assignment_at(assignments, i));
    for (size_t i = 0; i < rests_count(&assignments->rests); i++) {
        const struct rest *rest = rest_at(&assignments->rests, i);
        text_addf(text, "(%s %s) ", ip_str(&rest->ip, buffer), rest->name);
    }
}

static inline void assert_all(const struct fixture *fx, const char *expected)
{
    AUTOTEXT struct text text = { 0 };
    add_all(&text, &fx->assignments);
    assert_string_equal(text_str(&text), expected);
}

/* A pool "lb" of these addresses, and Services that ask for nothing; they get what they can. */
static inline void start(struct fixture *fx, const char *addresses, const char *const *names,
                         size_t count)
{
    AUTOFREE char *spec = text_format("addresses: [%s]", addresses);
    put_pool(fx->store, "lb", spec);
    for (size_t i = 0; i < count; i++)
        put_service(fx->store, names[i], "a: b", "");
    update(fx, NULL);
}
#define START(fx, addresses, ...)                                  \
    start((fx), (addresses), (const char *const[]){ __VA_ARGS__ }, \
          sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* Services that ask for nothing come or go, and only these are looked at. */
static inline void come(struct fixture *fx, const char *name)
{
    put_service(fx->store, name, "a: b", "");
    update(fx, name);
}

static inline void go(struct fixture *fx, const char *name)
{
    take_out(fx->store, name);
    update(fx, name);
}

#define IT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
