// SPDX-License-Identifier: Apache-2.0
/* The Kubernetes source and its copy on disk in documents and metrics. */
#include <string.h>

#include "cmocka_all.h"
#include "format/reader.h"
#include "state.h"

static void add_kubernetes(struct made_state *made)
{
    struct kube_status *kube = &made->status.source.kube;
    kube->count = 2;
    kube->kinds[0] = (struct kube_kind_status){
        .kind = "Service",
        .state = KUBE_WATCHING,
        .synced = true,
        .resource_version = "4711",
        .lists = 2,
        .reconnects = 3,
        .last_event_wall_ms = WALL_MS,
    };
    kube->kinds[1] = (struct kube_kind_status){
        .kind = "Node",
        .state = KUBE_WAITING,
        .error = "refused",
        .error_wall_ms = WALL_MS - 1000,
    };
    made->status.copy = (struct copy_status){
        .path = "/var/lib/fingerpost/objects.json",
        .written_wall_ms = WALL_MS,
        .as_of_wall_ms = WALL_MS - 1000,
        .objects = 12,
        .bytes = 3456,
        .in_force = true,
    };
}

static void add_writes(struct made_state *made)
{
    struct write_status *writes = &made->status.writes;
    *writes = (struct write_status){
        .enabled = true,
        .written = 12,
        .retries = 3,
        .conflicts = 1,
        .refused = 2,
        .lost = 4,
        .found = 1,
        .dropped = 5,
        .waiting = 1,
        .running = 1,
        .count = 2,
    };
    writes->rows[0] = (struct write_row){
        .what = "create Event d/web.1",
        .outcome = "refused",
        .why = "403: no",
        .tries = 2,
        .since_wall_ms = WALL_MS,
        .next_mono_ms = 1,
    };
    writes->rows[1] = (struct write_row){
        .what = "create Event d/web.2",
        .running = true,
        .since_wall_ms = WALL_MS,
    };
}

static int setup(void **state)
{
    struct made_state *made = made_state_new();
    add_kubernetes(made);
    *state = made;
    return 0;
}

static int teardown(void **state)
{
    made_state_free(*state);
    return 0;
}

static void assert_part(const struct text *out, const char *part)
{
    if (!strstr(text_str(out), part))
        fail_msg("not in it: %s", part);
}

static void test_writes(void **state)
{
    static const char *const parts[] = {
        ("\"writes\":{\"enabled\":true,\"written\":12,\"retries\":3,\"conflicts\":1,\"refused\":2,"
         "\"lost\":4,\"found\":1,\"dropped\":5,\"waiting\":1,\"running\":1,\"items\":["),
        "{\"what\":\"create Event d/web.1\",\"running\":false,\"tries\":2,\"since\":\"",
        "\"nextInMs\":0,\"outcome\":\"refused\",\"why\":\"403: no\"}",
        "\"nextInMs\":null,\"outcome\":null,\"why\":null}]}",
    };
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };
    add_writes(made);
    view_status(&made->api, &out);
    assert_int_equal(text_error(&out), 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        assert_part(&out, parts[i]);
}

static void test_status(void **state)
{
    static const char *const parts[] = {
        "\"kinds\":[{\"kind\":\"Service\",\"state\":\"watching\",\"synced\":true,"
        "\"resourceVersion\":\"4711\",\"lists\":2,\"reconnects\":3,"
        "\"lastEventAt\":\"2026-11-20T07:33:20Z\",\"error\":null,\"errorSince\":null},"
        "{\"kind\":\"Node\",\"state\":\"waiting\",\"synced\":false,\"resourceVersion\":\"\","
        "\"lists\":0,\"reconnects\":0,\"lastEventAt\":null,\"error\":\"refused\","
        "\"errorSince\":\"2026-11-20T07:33:19Z\"}]",
        "\"copy\":{\"path\":\"/var/lib/fingerpost/objects.json\","
        "\"writtenAt\":\"2026-11-20T07:33:20Z\",\"asOf\":\"2026-11-20T07:33:19Z\","
        "\"objects\":12,\"bytes\":3456,\"inForce\":true}}]",
    };
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };

    view_status(&made->api, &out);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        assert_part(&out, parts[i]);
}

/* As the API gives it: read from no file. */
static void put_service_of_api(struct store *store)
{
    static const char service[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\",\"namespace\":"
        "\"default\"},\"spec\":{}}";
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    struct object *object = NULL;

    assert_int_equal(document_parse(service, strlen(service), "", READER_JSON, &document, &faults),
                     1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    assert_int_equal(store_put(store, "api", object), 1);
}

static void test_explain(void **state)
{
    struct made_state *made = *state;
    const struct explain_query query = { .address = { .family = IP_V4, .bytes = { 10, 0, 0, 1 } } };
    AUTOTEXT struct text copied = { 0 }, live = { 0 }, services = { 0 };

    put_service_of_api(made->store);
    assert_true(view_explain(&made->api, &query, &copied));
    assert_part(&copied, "\"copyAsOf\":\"2026-11-20T07:33:19Z\"");
    assert_part(&copied, "\"source\":\"kubernetes\",\"file\":null,\"line\":null");
    made->status.copy.in_force = false;
    view_services(&made->api, &services);
    assert_part(&services, "\"source\":\"kubernetes\",\"file\":null,\"line\":null");
    assert_true(view_explain(&made->api, &query, &live));
    assert_part(&live, "\"copyAsOf\":null");
}

/* The copy stands in for what can't be read: that is a fault, and no failure. */
static void test_health(void **state)
{
    struct made_state *made = *state;

    made->status.source.name = "kubernetes";
    made->status.source.synced = made->status.routes.complete = false;
    made_fault(made, "kubernetes", "", "https://api:6443", "can't be reached", NULL);
    assert_string_equal(view_health(&made->api), "starting");
    made->status.routes.complete = true;
    assert_string_equal(view_health(&made->api), "degraded");
    made->status.copy.in_force = false;
    assert_string_equal(view_health(&made->api), "failed");
}

static void test_metrics(void **state)
{
    static const char *const lines[] = {
        "fingerpost_kubernetes_synced{kind=\"Service\"} 1\n",
        "fingerpost_kubernetes_synced{kind=\"Node\"} 0\n",
        "fingerpost_kubernetes_failing{kind=\"Service\"} 0\n",
        "fingerpost_kubernetes_failing{kind=\"Node\"} 1\n",
        "fingerpost_kubernetes_lists_total{kind=\"Service\"} 2\n",
        "fingerpost_kubernetes_reconnects_total{kind=\"Service\"} 3\n",
        "fingerpost_kubernetes_last_event_timestamp_seconds{kind=\"Service\"} 1795160000\n",
        "fingerpost_copy_in_force 1\n",
        "fingerpost_copy_written_timestamp_seconds 1795160000\n",
        "fingerpost_copy_as_of_timestamp_seconds 1795159999\n",
        "fingerpost_copy_objects 12\n",
        "fingerpost_copy_bytes 3456\n",
        "fingerpost_faults{subsystem=\"kubernetes\"} 0\n",
        "fingerpost_kubernetes_writes_total 12\n",
        "fingerpost_kubernetes_writes_dropped_total 5\n",
        "fingerpost_kubernetes_write_retries_total 3\n",
        "fingerpost_kubernetes_write_outcomes_total{outcome=\"conflict\"} 1\n",
        "fingerpost_kubernetes_write_outcomes_total{outcome=\"refused\"} 2\n",
        "fingerpost_kubernetes_write_outcomes_total{outcome=\"lost\"} 4\n",
        "fingerpost_kubernetes_write_outcomes_total{outcome=\"found\"} 1\n",
        "fingerpost_kubernetes_writes_pending{state=\"waiting\"} 1\n",
        "fingerpost_kubernetes_writes_pending{state=\"running\"} 1\n",
    };
    struct made_state *made = *state;
    AUTOTEXT struct text with = { 0 }, without = { 0 };

    add_writes(made);
    view_metrics(&made->api, &with);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_part(&with, lines[i]);

    made->status.writes.enabled = false;
    made->status.source.kube.count = 0;
    made->status.copy.path = NULL;
    view_metrics(&made->api, &without);
    assert_null(strstr(text_str(&without), "fingerpost_kubernetes_"));
    assert_null(strstr(text_str(&without), "fingerpost_copy_"));
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_status), WITH_STATE(test_writes),  WITH_STATE(test_explain),
        WITH_STATE(test_health), WITH_STATE(test_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
