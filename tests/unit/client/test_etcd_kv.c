// SPDX-License-Identifier: Apache-2.0
/* Words of etcd's key-value API: bodies of requests, and what is read of answers. */
#include "client/etcd/etcd_kv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "client/etcd/etcd_login.h"
#include "cmocka_all.h"

static int on_entry(void *context, const struct etcd_entry *entry)
{
    text_addf(context, "%s%s%.*s@%" PRId64 "-%" PRIx64 " ", entry->key, entry->deleted ? "!" : "=",
              (int)entry->length, entry->value, entry->version.mod_revision,
              (uint64_t)entry->version.lease);
    return 0;
}

static void writes_bodies(void **state)
{
    (void)state;
    AUTOTEXT struct text out = { 0 };
    const struct etcd_version none = { 0 }, there = { 7, 255 };
    etcd_get(&out, "/a/b");
    text_add_char(&out, '\n');
    etcd_list(&out, "/a/");
    text_add_char(&out, '\n');
    etcd_put_if(&out, "/a", "v", 9, &none, NULL);
    text_add_char(&out, '\n');
    etcd_put_if(&out, "/a", "v", 0, &there, "u");
    text_add_char(&out, '\n');
    etcd_delete_if(&out, "/a", &there);
    text_add_char(&out, '\n');
    etcd_watch_from(&out, "/a/", 8);
    text_add_char(&out, '\n');
    etcd_grant(&out, 600);
    etcd_keep_alive(&out, 9);
    assert_string_equal(
        text_str(&out),
        "{\"key\":\"L2EvYg==\"}\n"
        "{\"key\":\"L2Ev\",\"range_end\":\"L2Ew\"}\n"
        "{\"compare\":[{\"key\":\"L2E=\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":"
        "\"0\"}],\"success\":[{\"request_put\":{\"key\":\"L2E=\",\"value\":\"dg==\",\"lease\":"
        "\"9\"}}]}\n"
        "{\"compare\":[{\"key\":\"L2E=\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":"
        "\"7\"},{\"key\":\"L2E=\",\"target\":\"LEASE\",\"result\":\"EQUAL\",\"lease\":\"255\"},"
        "{\"key\":\"L2E=\",\"target\":\"VALUE\",\"result\":\"EQUAL\",\"value\":\"dQ==\"}],"
        "\"success\":[{\"request_put\":{\"key\":\"L2E=\",\"value\":\"dg==\"}}]}\n"
        "{\"compare\":[{\"key\":\"L2E=\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":"
        "\"7\"},{\"key\":\"L2E=\",\"target\":\"LEASE\",\"result\":\"EQUAL\",\"lease\":\"255\"}],"
        "\"success\":[{\"request_delete_range\":{\"key\":\"L2E=\"}}]}\n"
        "{\"create_request\":{\"key\":\"L2Ev\",\"range_end\":\"L2Ew\",\"start_revision\":\"8\","
        "\"progress_notify\":true}}\n"
        "{\"TTL\":\"600\"}{\"ID\":\"9\"}");
}

static void versions_go_and_come_back(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "7", "7-", "-7", "7-x", "7-1 ", "x-1" };
    const struct etcd_version version = { INT64_MAX, -2 };
    struct etcd_version back = { 0 };
    char buffer[ETCD_VERSION_LEN];
    etcd_version_str(&version, buffer);
    assert_string_equal(buffer, "9223372036854775807-fffffffffffffffe");
    assert_int_equal(etcd_version_parse(buffer, &back), 0);
    assert_memory_equal(&back, &version, sizeof(back));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(etcd_version_parse(bad[i], &back), -EINVAL);
}

#define HEADER "\"header\":{\"cluster_id\":\"14841639068965178418\",\"revision\":\"42\"}"

static void reads_ranges(void **state)
{
    (void)state;
    static const char answer[] =
        "{" HEADER ",\"kvs\":[{\"key\":\"L2Ev\",\"create_revision\":\"3\",\"mod_revision\":\"41\","
        "\"version\":\"2\",\"value\":\"dg==\",\"lease\":\"255\"},{\"key\":\"L2Ew\","
        "\"mod_revision\":\"5\"}],\"count\":\"2\"}";
    static const char none[] = "{" HEADER "}";
    AUTOTEXT struct text out = { 0 };
    struct etcd_header header;
    assert_int_equal(etcd_read_range(answer, strlen(answer), &header, on_entry, &out), 0);
    assert_string_equal(text_str(&out), "/a/=v@41-ff /a0=@5-0 ");
    assert_int_equal(header.revision, 42);
    assert_string_equal(header.cluster, "14841639068965178418");
    assert_int_equal(etcd_read_range(none, strlen(none), &header, on_entry, &out), 0);
}

static void reads_what_became_of_writes(void **state)
{
    (void)state;
    static const char done[] = "{" HEADER ",\"succeeded\":true,\"responses\":[{}]}";
    static const char other[] = "{" HEADER "}";
    static const char granted[] = "{" HEADER ",\"ID\":\"7587\",\"TTL\":\"600\"}";
    static const char kept[] = "{\"result\":{" HEADER ",\"ID\":\"7587\",\"TTL\":\"600\"}}";
    static const char ended[] = "{\"result\":{" HEADER ",\"ID\":\"7587\"}}";
    struct etcd_header header;
    bool succeeded = false;
    int64_t lease, ttl_s;
    assert_int_equal(etcd_read_txn(done, strlen(done), &header, &succeeded), 0);
    assert_true(succeeded && header.revision == 42);
    assert_int_equal(etcd_read_txn(other, strlen(other), &header, &succeeded), 0);
    assert_false(succeeded);
    assert_int_equal(etcd_read_lease(granted, strlen(granted), &lease, &ttl_s), 0);
    assert_true(lease == 7587 && ttl_s == 600);
    assert_int_equal(etcd_read_lease(kept, strlen(kept), &lease, &ttl_s), 0);
    assert_true(lease == 7587 && ttl_s == 600);
    assert_int_equal(etcd_read_lease(ended, strlen(ended), &lease, &ttl_s), 0);
    assert_true(lease == 7587 && ttl_s == 0);
}

static void reads_news(void **state)
{
    (void)state;
    static const struct {
        const char *message, *events;
        bool created, canceled;
        int64_t compacted;
    } cases[] = {
        { "{\"result\":{" HEADER ",\"created\":true}}", "", true, false, 0 },
        { "{\"result\":{" HEADER ",\"events\":[{\"kv\":{\"key\":\"L2E=\",\"mod_revision\":\"42\","
          "\"value\":\"dg==\"}},{\"type\":\"DELETE\",\"kv\":{\"key\":\"L2I=\",\"mod_revision\":"
          "\"42\"}}]}}",
          "/a=v@42-0 /b!@42-0 ", false, false, 0 },
        { "{\"result\":{" HEADER ",\"canceled\":true,\"compact_revision\":\"40\"}}", "", false,
          true, 40 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOTEXT struct text out = { 0 };
        struct etcd_news news = { 0 };
        assert_int_equal(
            etcd_read_news(cases[i].message, strlen(cases[i].message), &news, on_entry, &out), 0);
        assert_string_equal(text_str(&out), cases[i].events);
        assert_int_equal(news.created, cases[i].created);
        assert_int_equal(news.canceled, cases[i].canceled);
        assert_int_equal(news.compacted, cases[i].compacted);
        assert_int_equal(news.header.revision, 42);
    }
}

static void refuses_what_is_no_answer(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "",
        "[]",
        "null",
        "{",
        "{}",
        "{\"header\":1}",
        "{" HEADER ",\"kvs\":[{}]}",
        "{" HEADER ",\"kvs\":[{\"key\":\"%\"}]}",
    };
    struct etcd_header header;
    struct etcd_news news;
    int64_t lease, ttl_s;
    AUTOTEXT struct text out = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        const size_t size = strlen(answers[i]);
        assert_int_equal(etcd_read_range(answers[i], size, &header, on_entry, &out), -EBADMSG);
        assert_int_equal(etcd_read_news(answers[i], size, &news, on_entry, &out), -EBADMSG);
        assert_int_equal(etcd_read_lease(answers[i], size, &lease, &ttl_s), -EBADMSG);
    }
    assert_string_equal(text_str(&out), "");
}

/* ---- users ---- */

static void logs_in_by_the_file_of_the_password(void **state)
{
    (void)state;
    static const struct {
        const char *content, *body;
        int r;
    } cases[] = {
        { "sesame\n", "{\"name\":\"node\",\"password\":\"sesame\"}", 0 },
        { "a \"b\"\r\nmore", "{\"name\":\"node\",\"password\":\"a \\\"b\\\"\"}", 0 },
        { "\n", "{\"name\":\"node\",\"password\":\"\"}", -ENODATA },
        { NULL, "{\"name\":\"node\",\"password\":\"\"}", -ENOENT },
    };
    char path[] = "/tmp/etcd-password-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOTEXT struct text body = { 0 };
        const char *content = cases[i].content;
        assert_int_equal(content ? file_write_atomic(path, content, strlen(content)) : unlink(path),
                         0);
        assert_int_equal(etcd_login_body("node", path, &body), cases[i].r);
        assert_string_equal(text_str(&body), cases[i].body);
    }
}

static void takes_the_token_of_an_answer(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "[]", "{}", "{\"token\":\"\"}", "{\"token\":{}}", "{\"token\":\"a\\nb: c\"}"
    };
    AUTOFREE char *token = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(etcd_login_token(bad[i], strlen(bad[i]), &token), -EBADMSG);
    assert_int_equal(etcd_login_token("{\"token\":\"x.1\"}", 15, &token), 0);
    assert_string_equal(token, "x.1");
    assert_true(etcd_login_is_over(401, ""));
    assert_true(etcd_login_is_over(400, "etcdserver: revision in auth store is old"));
    assert_false(etcd_login_is_over(400, "etcdserver: user name is empty"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_in_by_the_file_of_the_password),
        cmocka_unit_test(takes_the_token_of_an_answer),
        cmocka_unit_test(writes_bodies),
        cmocka_unit_test(versions_go_and_come_back),
        cmocka_unit_test(reads_ranges),
        cmocka_unit_test(reads_what_became_of_writes),
        cmocka_unit_test(reads_news),
        cmocka_unit_test(refuses_what_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
