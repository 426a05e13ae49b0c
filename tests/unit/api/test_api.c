// SPDX-License-Identifier: Apache-2.0
/* Which path is answered how; the query comes from here instead of the HTTP server. */
#include <errno.h>
#include <string.h>

#include "api/api.h"
#include "api/body.h"
#include "cmocka_all.h"
#include "fake_changes.h"
#include "nat_state.h"

/* In place of loop/http.c: `connection` is the query, "name=value&name=value". */
const char *http_query(const struct http_request *request, const char *name)
{
    static char values[8][64];
    static size_t used;
    AUTOFREE char *query = strdup(request->connection ? request->connection : "");
    char *position = NULL;

    for (char *part = strtok_r(query, "&", &position); part;
         part = strtok_r(NULL, "&", &position)) {
        char *equals = strchr(part, '=');
        assert_non_null(equals);
        *equals = '\0';
        if (strcmp(part, name) != 0)
            continue;
        char *value = values[used++ % ARRAY_SIZE(values)];
        assert_true(strlen(equals + 1) < sizeof(values[0]));
        return strcpy(value, equals + 1);
    }
    return NULL;
}

static const char *type_sent; /* of the body; NULL: none is told */
static const char *length_sent;

const char *http_header(const struct http_request *request, const char *name)
{
    (void)request;
    assert_string_equal(name, "Content-Type");
    return type_sent;
}

bool http_has_body(const struct http_request *request)
{
    (void)request;
    return length_sent != NULL;
}

static int setup(void **state)
{
    *state = made_state_new();
    return 0;
}

static int teardown(void **state)
{
    made_state_free(*state);
    return 0;
}

static int runs;
static uid_t asker;
static const char *sent; /* the body; NULL: none */

static int64_t asked_ms;
static const char *asked_reason;

/* The third one fails. */
static int count_runs(const struct api_call *call, void *context)
{
    static const char *const members[] = { "reason", "for", "late", NULL };
    static char kept[64];
    const char *reason = "";
    bool late = false;

    int r = body_check_members(call->body, members, call->faults);
    if (r == 0)
        r = body_line(call->body, "reason", 20, &reason, call->faults);
    if (r >= 0)
        r = body_duration(call->body, "for", &asked_ms, call->faults);
    if (r >= 0 && call->body)
        r = doc_bool(call->body, doc_get(call->body->root, "late"), &late, call->faults);
    if (r < 0)
        return r;
    if (late)
        return -EALREADY;
    asked_reason = strcpy(kept, reason);
    return ++*(int *)context < 3 ? 0 : -ENOSPC;
}

static const struct api_action action = { "/v1/drain", count_runs };

static struct api api_of(struct made_state *made)
{
    return (struct api){
        .state = &made->api,
        .actions = &action,
        .action_count = 1,
        .action_context = &runs,
    };
}

static struct http_request request_of(const char *method, const char *path, const char *query)
{
    return (struct http_request){
        .method = method,
        .path = path,
        .peer_known = true,
        .peer_uid = asker,
        .body = sent,
        .body_size = sent ? strlen(sent) : 0,
        .connection = (void *)query,
    };
}

static struct http_reply ask(struct made_state *made, http_handler handler, const char *method,
                             const char *path, const char *query)
{
    const struct api api = api_of(made);
    const struct http_request request = request_of(method, path, query);
    struct http_reply reply = { 0 };

    handler(&request, &reply, handler == api_handle ? (void *)&api : (void *)&made->api);
    assert_non_null(reply.body);
    assert_int_equal(strlen(reply.body), reply.size);
    assert_int_equal(reply.body[reply.size - 1], '\n');
    return reply;
}

static void expect(struct made_state *made, http_handler handler, const char *path,
                   const char *query, unsigned status, const char *content_type, const char *begin)
{
    struct http_reply reply = ask(made, handler, "GET", path, query);

    assert_int_equal(reply.status, status);
    assert_string_equal(reply.content_type, content_type);
    assert_memory_equal(reply.body, begin, strlen(begin));
    free(reply.body);
}

static const char json[] = "application/json";
static const char plain[] = "text/plain; charset=utf-8";
static const char metrics[] = "text/plain; version=0.0.4; charset=utf-8";

static void test_answers_of_changes(void **state)
{
    static const char *const bad[] = { "applied=-1", "applied=x", "applied=1x",
                                       "applied=18446744073709551616" };
    expect(*state, api_handle, "/v1/changes", NULL, 200, "application/x-ndjson", "streamed");
    expect(*state, api_handle, "/v1/status", "applied=17", 200, json, "awaited");
    assert_int_equal(changes_awaited, 17);
    expect(*state, api_handle, "/v1/status", "applied=0", 200, json, "awaited");
    assert_int_equal(changes_awaited, 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        expect(*state, api_handle, "/v1/status", bad[i], 400, json, "{\"error\":\"applied is");
}

static void test_documents(void **state)
{
    static const struct {
        const char *path, *begin;
    } documents[] = {
        { "/v1/status", "{\"apiVersion\":\"v1\",\"kind\":\"Status\"" },
        { "/v1/routes", "{\"apiVersion\":\"v1\",\"kind\":\"RouteList\"" },
        { "/v1/blocks", "{\"apiVersion\":\"v1\",\"kind\":\"BlockList\"" },
        { "/v1/services", "{\"apiVersion\":\"v1\",\"kind\":\"ServiceList\"" },
        { "/v1/faults", "{\"apiVersion\":\"v1\",\"kind\":\"FaultList\"" },
        { "/v1/diff", "{\"apiVersion\":\"v1\",\"kind\":\"Diff\"" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        expect(*state, api_handle, documents[i].path, NULL, 200, json, documents[i].begin);
        expect(*state, api_handle_public, documents[i].path, NULL, 404, json, "{\"error\":");
    }
}

static void test_explain(void **state)
{
    expect(*state, api_handle, "/v1/explain", "address=10.0.0.1", 200, json,
           "{\"apiVersion\":\"v1\",\"kind\":\"Explanation\",\"address\":\"10.0.0.1\"");
    expect(*state, api_handle, "/v1/explain", "address=10.9.9.9", 404, json, "{\"error\":");
    expect(*state, api_handle, "/v1/explain", "address=web", 400, json, "{\"error\":");
    expect(*state, api_handle, "/v1/explain", NULL, 400, json, "{\"error\":");
    expect(*state, api_handle_public, "/v1/explain", "address=10.0.0.1", 404, json, "{\"error\":");
}

/* Each action is refused to readers before anybody looks whether the program has it. */
static void test_rights(void **state)
{
    static const char *const paths[] = { "/v1/drain", "/v1/withdraw", "/v1/undrain" };

    runs = 0;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        asker = 1000;
        struct http_reply reply = ask(*state, api_handle, "POST", paths[i], NULL);
        assert_int_equal(reply.status, 403);
        free(reply.body);
        asker = 0;
        reply = ask(*state, api_handle, "POST", paths[i], NULL);
        assert_int_equal(reply.status, i == 0 ? 200 : 404); /* only one was handed in */
        free(reply.body);
    }
    assert_int_equal(runs, 1);
    runs = 0;
}

static void expect_bad(struct made_state *made, const char *path, const char *query)
{
    expect(made, api_handle, path, query, 400, json, "{\"error\":");
}

static void test_arguments(void **state)
{
    struct made_nat *nat = made_nat_new(*state);

    static const char *const good[] = { "address=10.0.0.1&port=80",
                                        "address=10.0.0.1&port=65535&protocol=udp" };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        expect(*state, api_handle, "/v1/explain", good[i], 200, json, "{\"apiVersion\"");
    expect_bad(*state, "/v1/explain", "address=10.0.0.1&port=0");
    expect_bad(*state, "/v1/explain", "address=10.0.0.1&port=65536");
    expect_bad(*state, "/v1/explain", "address=10.0.0.1&port= 80");
    expect_bad(*state, "/v1/explain", "address=10.0.0.1&port=");
    expect_bad(*state, "/v1/explain", "address=10.0.0.1&protocol=ICMP");
    expect_bad(*state, "/v1/backends", "service=web");
    expect_bad(*state, "/v1/backends", "service=default/");
    expect_bad(*state, "/v1/flows", "service=/web");
    expect_bad(*state, "/v1/flows", "service=a/b/c");
    expect_bad(*state, "/v1/flows", "limit=0");
    expect_bad(*state, "/v1/flows", "limit=1000001");
    expect_bad(*state, "/v1/flows", "limit=-1");
    expect(*state, api_handle, "/v1/backends", "service=default/none", 404, json, "{\"error\":");
    expect(*state, api_handle, "/v1/flows", "service=default/none", 404, json, "{\"error\":");
    made_nat_free(nat);
}

static void test_nat_is_asked_where_it_runs(void **state)
{
    static const struct {
        const char *path, *begin;
    } questions[] = {
        { "/v1/backends", "{\"apiVersion\":\"v1\",\"kind\":\"BackendList\"" },
        { "/v1/flows", "{\"apiVersion\":\"v1\",\"kind\":\"FlowList\"" },
        { "/v1/maps", "{\"apiVersion\":\"v1\",\"kind\":\"MapList\"" },
        { "/v1/verify", "{\"apiVersion\":\"v1\",\"kind\":\"Verification\"" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
        expect(*state, api_handle, questions[i].path, NULL, 503, json, "{\"error\":\"service NAT");
    struct made_nat *nat = made_nat_new(*state);
    for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
        expect(*state, api_handle, questions[i].path, NULL, 200, json, questions[i].begin);
        expect(*state, api_handle_public, questions[i].path, NULL, 404, json, "{\"error\":");
    }
    made_nat_free(nat);
}

static void test_public_paths(void **state)
{
    static const http_handler handlers[] = { api_handle, api_handle_public };

    for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
        expect(*state, handlers[i], "/metrics", NULL, 200, metrics, "# HELP fingerpost_build_info");
        expect(*state, handlers[i], "/livez", NULL, 200, plain, "ok\n");
        expect(*state, handlers[i], "/readyz", NULL, 200, plain, "ok\n");
        expect(*state, handlers[i], "/", NULL, 404, json, "{\"error\":\"no such path\"}\n");
        expect(*state, handlers[i], "/v1/statuses", NULL, 404, json, "{\"error\":");
    }
}

static void test_not_ready(void **state)
{
    struct made_state *made = *state;

    made->status.routes.complete = false;
    expect(made, api_handle_public, "/readyz", NULL, 503, plain,
           "not ready: the first complete pass is still to come\n");
    made->status.source.synced = false;
    expect(made, api_handle_public, "/readyz", NULL, 503, plain,
           "not ready: the source (manifests) has not been read yet\n");
    expect(made, api_handle_public, "/livez", NULL, 200, plain, "ok\n");
}

static void test_only_get(void **state)
{
    static const char *const methods[] = { "POST", "PUT", "DELETE", "HEAD", "get" };
    static const char *const paths[] = { "/v1/status", "/v1/explain", "/metrics", "/nothing" };

    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(paths); j++) {
            struct http_reply reply =
                ask(*state, api_handle, methods[i], paths[j], "address=10.0.0.1");
            assert_int_equal(reply.status, 405);
            free(reply.body);
        }
    }
}

static void expect_post(struct made_state *made, const char *path, unsigned status,
                        const char *begin)
{
    struct http_reply reply = ask(made, api_handle, "POST", path, NULL);
    assert_int_equal(reply.status, status);
    assert_memory_equal(reply.body, begin, strlen(begin));
    free(reply.body);
}

static void test_actions_are_for_root(void **state)
{
    static const char document[] = "{\"apiVersion\":\"v1\",\"kind\":\"Status\"";
    runs = 0;
    asker = 1000;
    expect_post(*state, "/v1/drain", 403, "{\"error\":\"only root");
    assert_int_equal(runs, 0);
    asker = 0;
    expect_post(*state, "/v1/drain", 200, document);
    expect_post(*state, "/v1/drain", 200, document);
    assert_int_equal(runs, 2);
    expect_post(*state, "/v1/drain", 500, "{\"error\":\"No space left");
    expect_post(*state, "/v1/status", 405, "{\"error\":");
    assert_int_equal(runs, 3);
}

/* How many bytes of a body the request may have; `status`: 0, or that of the refusal. */
static void expect_admission(struct made_state *made, const char *method, const char *path,
                             unsigned status, size_t bytes)
{
    const struct api api = api_of(made);
    const struct http_request request = request_of(method, path, NULL);
    struct http_reply reply = { 0 };

    size_t limit = api_admit(&request, &reply, (void *)&api);
    assert_int_equal(reply.status, status);
    if (status == 0)
        assert_int_equal(limit, bytes);
    else
        assert_memory_equal(reply.body, "{\"error\":", 9);
    free(reply.body);
}

static void test_bodies_are_admitted(void **state)
{
    static const char *const types[] = { "application/json", "application/json; charset=utf-8",
                                         "Application/JSON" };
    static const char *const others[] = { "application/x-www-form-urlencoded", "text/json",
                                          "application/jsonl", "" };

    asker = 0;
    length_sent = "10";
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        type_sent = types[i];
        expect_admission(*state, "POST", "/v1/drain", 0, 4096);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        type_sent = others[i];
        expect_admission(*state, "POST", "/v1/drain", 415, 0);
    }
    type_sent = NULL;
    expect_admission(*state, "POST", "/v1/drain", 415, 0);
    expect_admission(*state, "POST", "/v1/status", 0, 0); /* answered with 405 */
    expect_admission(*state, "GET", "/v1/status", 0, 0);
    asker = 1000; /* says nothing of the type */
    expect_admission(*state, "POST", "/v1/drain", 403, 0);
    asker = 0;
    length_sent = NULL;
    expect_admission(*state, "POST", "/v1/drain", 0, 4096);
}

static void test_bodies_are_read(void **state)
{
    runs = 0;
    asker = 0;
    asked_ms = 0;
    asked_reason = NULL;
    sent = "{\"reason\": \"disk\", \"for\": \"1m30s\"}";
    expect_post(*state, "/v1/drain", 200, "{\"apiVersion\":\"v1\",\"kind\":\"Status\"");
    assert_int_equal(asked_ms, 90000);
    assert_string_equal(asked_reason, "disk");
    sent = "{}";
    expect_post(*state, "/v1/drain", 200, "{\"apiVersion\":");
    sent = "{\"late\": true}";
    expect_post(*state, "/v1/drain", 409, "{\"error\":");
    assert_int_equal(runs, 2);
    sent = NULL;
}

/* Each error says where it is: in the text, and as a member of its own. */
static void test_bad_bodies_are_refused(void **state)
{
    static const struct {
        const char *body, *place, *words;
    } bad[] = {
        { "", "body:1:1", "expected a JSON object" },
        { " \n ", "body:1:1", "expected a JSON object" },
        { "{\"reason\": \"a\"", "body:1:15", "" },
        { "{\"reason\": \"a\"} {}", "body:1:17", "" },
        { "reason=disk", "body:1:1", "" },
        { "[]", "body:1:1", "expected a JSON object" },
        { "\"disk\"", "body:1:1", "expected a JSON object" },
        { "{\n  \"raeson\": 1}", "body:2:13", "raeson: unknown member" },
        { "{\"reason\": []}", "body:1:12", "reason: " },
        { "{\"reason\": \"a\", \"reason\": \"b\"}", "body:1:17", "" },
        { "{\"reason\": 1}", "body:1:12", "reason: expected a string, found" },
        { "{\"reason\": true}", "body:1:12", "reason: expected a string" },
        { "{\"reason\": \"a\\u0007\"}", "body:1:12", "reason: expected one line" },
        { "{\"reason\": \"123456789012345678901\"}", "body:1:12", "at most 20 bytes" },
        { "{\"for\": \"soon\"}", "body:1:9", "for: expected a duration" },
        { "{\"reason\": \"\xff\"}", "body:1:13", "" },
    };

    runs = 0;
    asker = 0;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        sent = bad[i].body;
        struct http_reply reply = ask(*state, api_handle, "POST", "/v1/drain", NULL);
        AUTOFREE char *place = text_format(",\"place\":\"%s\"}\n", bad[i].place);
        AUTOFREE char *error = text_format("{\"error\":\"%s: ", bad[i].place);
        assert_int_equal(reply.status, 400);
        assert_memory_equal(reply.body, error, strlen(error));
        assert_string_equal(reply.body + reply.size - strlen(place), place);
        assert_non_null(strstr(reply.body, bad[i].words));
        free(reply.body);
    }
    assert_int_equal(runs, 0);
    sent = NULL;
}

static void test_deep_bodies_are_refused(void **state)
{
    char deep[4097] = "";

    asker = 0;
    memset(deep, '[', sizeof(deep) - 1);
    memcpy(deep, "{\"reason\":", 10);
    sent = deep;
    expect_post(*state, "/v1/drain", 400, "{\"error\":\"body:1:74: ");
    sent = NULL;
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_documents),
        WITH_STATE(test_answers_of_changes),
        WITH_STATE(test_rights),
        WITH_STATE(test_explain),
        WITH_STATE(test_public_paths),
        WITH_STATE(test_not_ready),
        WITH_STATE(test_only_get),
        WITH_STATE(test_actions_are_for_root),
        WITH_STATE(test_bodies_are_admitted),
        WITH_STATE(test_bodies_are_read),
        WITH_STATE(test_bad_bodies_are_refused),
        WITH_STATE(test_deep_bodies_are_refused),
        WITH_STATE(test_arguments),
        WITH_STATE(test_nat_is_asked_where_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
