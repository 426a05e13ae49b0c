// SPDX-License-Identifier: Apache-2.0
/*
 * The events engine: after random edits of Services, what it has planned bit by bit is what another
 * one plans of everything; and it is off where it is to be off.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/events/event_engine.h"
#include "engine/facts.h"
#include "format/reader.h"
#include "model/object.h"
#include "plan/nat/service_event.h"

#include "cmocka_all.h"

enum { EDITS = 2000, SERVICES = 6 };

struct fixture {
    struct config *config;
    struct store *store;
    struct board board;
    struct engine *engine;
};

/* Facts without a kernel. */
struct node_facts __wrap_node_facts_of(const struct config *config, const struct store *store,
                                       const struct kernel *kernel, const struct nat_svc0 *leads,
                                       const struct default_sources *defaults);

struct node_facts __wrap_node_facts_of(const struct config *config, const struct store *store,
                                       const struct kernel *kernel, const struct nat_svc0 *leads,
                                       const struct default_sources *defaults)
{
    (void)kernel, (void)leads, (void)defaults;
    return (struct node_facts){ .config = config, .store = store };
}

static void open_engine(struct fixture *fx, struct board *board, struct engine **ret_engine)
{
    const struct engine_setup setup = { .config = fx->config, .store = fx->store, .board = board };
    assert_int_equal(event_engine_ops.open(&setup, ret_engine), 0);
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    struct prefix range;
    assert_non_null(fx);
    assert_int_equal(config_default("/m", &fx->config), 0);
    fx->config->source.kubernetes = true;
    fx->config->services.enabled = true;
    assert_int_equal(prefix_parse("192.0.2.0/24", &range), 0);
    assert_int_equal(vec_push(&fx->config->services.external_ips, range), 0);
    fx->store = store_new();
    assert_non_null(fx->store);
    open_engine(fx, &fx->board, &fx->engine);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    event_engine_ops.close(fx->engine);
    store_free(fx->store);
    config_free(fx->config);
    free(fx);
    return 0;
}

static void put(struct fixture *fx, const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "t", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    assert_true(store_put(fx->store, "t", object) >= 0);
}

/* External IPs of two ranges, one of them honoured; ports that others may have. */
static void put_service(struct fixture *fx, int id)
{
    AUTOTEXT struct text yaml = { 0 };
    text_addf(&yaml,
              "apiVersion: v1\nkind: Service\n"
              "metadata: {name: s%d, namespace: d, uid: u%d, creationTimestamp: "
              "\"2026-11-20T07:00:%02dZ\"}\n"
              "spec: {clusterIPs: [10.96.0.%d], ports: [{name: a, port: %d}], externalIPs: [",
              id, rand() % 20, rand() % 60, id + 1, 80 + rand() % 2);
    for (int i = rand() % 3; i >= 0; i--)
        text_addf(&yaml, "%s%d%s", rand() % 3 ? "192.0.2." : "198.51.100.", rand() % 3,
                  i ? ", " : "]}\n");
    put(fx, text_str(&yaml));
}

static void run(struct engine *engine, struct round *round)
{
    assert_int_equal(event_engine_ops.plan(engine, round), 0);
    event_engine_ops.publish(engine, round);
}

static void follow(struct fixture *fx)
{
    struct round round = { 0 };
    AUTOVEC change_list changes = { 0 };
    assert_int_equal(store_changes(fx->store, &changes), 0);
    vec_each(const struct change, change, &changes)
        assert_int_equal(event_engine_ops.note(fx->engine, change, &round), 0);
    run(fx->engine, &round);
    store_changes_done(fx->store);
}

static void assert_same(const struct sorted *a, const struct sorted *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_int_equal(service_event_cmp(sorted_at(a, i), sorted_at(b, i)), 0);
}

static void assert_as_from_nothing(struct fixture *fx)
{
    struct board board = { 0 };
    struct engine *fresh = NULL;
    struct round all = { .all = true };
    open_engine(fx, &board, &fresh);
    run(fresh, &all);
    assert_same(fx->board.service_events, board.service_events);
    event_engine_ops.close(fresh);
}

static void edits_lead_where_a_plan_from_nothing_does(void **state)
{
    struct fixture *fx = *state;
    size_t most = 0;
    srand(7);
    for (int i = 0; i < EDITS; i++) {
        char name[8];
        int id = rand() % SERVICES;
        (void)snprintf(name, sizeof(name), "s%d", id);
        if (rand() % 4)
            put_service(fx, id);
        else
            (void)store_remove(fx->store, "t", KIND_SERVICE, "d", name);
        if (rand() % 3 == 0)
            continue; /* several at once */
        follow(fx);
        assert_as_from_nothing(fx);
        most = fx->board.service_events->count > most ? fx->board.service_events->count : most;
    }
    assert_true(most > 5);
}

static void it_can_be_off(void **state)
{
    struct fixture *fx = *state;
    struct round all = { .all = true };
    srand(8);
    while (fx->board.service_events->count == 0) {
        put_service(fx, rand() % SERVICES);
        follow(fx);
    }
    fx->config->source.events = false;
    event_engine_ops.configure(fx->engine, fx->config);
    run(fx->engine, &all);
    assert_int_equal(fx->board.service_events->count, 0);
    put_service(fx, 1);
    follow(fx);
    assert_int_equal(fx->board.service_events->count, 0);
    fx->config->source.events = true;
    event_engine_ops.configure(fx->engine, fx->config);
    run(fx->engine, &all);
    assert_as_from_nothing(fx);
}

static void there_is_an_end_to_them(void **state)
{
    struct fixture *fx = *state;
    struct round all = { .all = true };
    for (int i = 0; i < 2 * SERVICE_EVENTS_MAX; i++) {
        AUTOFREE char *yaml = text_format(
            "apiVersion: v1\nkind: Service\nmetadata: {name: s%d, namespace: d, uid: u%d}\n"
            "spec: {clusterIPs: [10.96.%d.%d], ports: [{name: a, port: 80}], externalIPs: "
            "[198.51.%d.%d]}\n",
            i, i, i >> 8, i & 255, i >> 8, i & 255);
        put(fx, yaml);
    }
    run(fx->engine, &all);
    assert_int_equal(fx->board.service_events->count, SERVICE_EVENTS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(edits_lead_where_a_plan_from_nothing_does),
        TEST(it_can_be_off),
        TEST(there_is_an_end_to_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
