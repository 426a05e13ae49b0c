// SPDX-License-Identifier: Apache-2.0
/* What agentd answers: HTTP replies, and plans. tests/cni/ has what is made of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "cni/plan.h"
#include "cni/reply.h"
#include "faults/documents.h"
#include "faults/raise.h"
#include "raised.h"

static const char good[] =
    "{\"interface\":\"eth0\",\"hostInterface\":\"veth1\",\"alias\":\"COIL:a:b:eth0\","
    "\"addresses\":[\"10.1.2.3/32\",\"fd00::3/128\"],\"gateways\":[\"192.0.2.7\",\"fe80::1\"],"
    "\"hostMAC\":\"02:00:00:0a:fF:01\",\"mtu\":1400,"
    "\"routes\":[{\"to\":\"0.0.0.0/0\",\"via\":\"192.0.2.7\"}],"
    "\"sysctls\":{\"net.ipv6.conf.veth1.accept_ra\":\"0\"},\"version\":7,\"later\":{}}";

static void a_plan_is_decoded(void **state)
{
    (void)state;
    static const uint8_t mac[6] = { 2, 0, 0, 0x0a, 0xff, 1 };
    struct plan plan;
    struct cni_error error;
    assert_int_equal(plan_decode(good, strlen(good), &plan, &error), 0);
    assert_string_equal(plan.host_interface, "veth1");
    assert_string_equal(plan.alias, "COIL:a:b:eth0");
    assert_true(plan.has_host_mac && memcmp(plan.host_mac, mac, 6) == 0);
    assert_int_equal(plan.mtu, 1400);
    assert_int_equal(plan.addresses.count, 2);
    assert_int_equal(plan.addresses.items[1].length, 128);
    assert_int_equal(plan.gateways.count, 2);
    assert_int_equal(plan.routes.items[0].to.length, 0);
    assert_string_equal(plan.sysctls.items[0].value, "0");
    plan_done(&plan);
}

/* A good plan in which one text stands in the place of another. */
static void with(const char *old, const char *new_text, char buffer[static 1024])
{
    const char *at = strstr(good, old);
    assert_non_null(at);
    int length =
        snprintf(buffer, 1024, "%.*s%s%s", (int)(at - good), good, new_text, at + strlen(old));
    assert_true(length > 0 && length < 1024);
}

static void what_is_not_understood_is_refused(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        { "veth1\"", "\"" },
        { "\"veth1", "\"a/b" },
        { "\"veth1", "\"a.b" },
        { "\"veth1", "\"-veth1" },
        { "\"veth1", "\"sixteen-letters-" },
        { "\"alias\"", "\"x\"" },
        { "COIL:a:b:eth0", "" },
        { "10.1.2.3/32", "10.1.2.3" },
        { "10.1.2.3/32", "10.1.2.3/24" },
        { "10.1.2.3/32", "10.1.2.3/33" },
        { "\"addresses\"", "\"x\"" },
        { "[\"10.1.2.3/32\",\"fd00::3/128\"]", "{}" },
        { "[\"10.1.2.3/32\",\"fd00::3/128\"]", "[]" },
        { "[\"10.1.2.3/32\",\"fd00::3/128\"]", "[[]]" },
        { "\"fe80::1\"", "\"fe80::1%eth0\"" },
        { "02:00:00:0a:fF:01", "02:00:00:0a:fF" },
        { "02:00:00:0a:fF:01", "02:00:00:0a:fF:0g" },
        { "1400", "-1" },
        { "1400", "65536" },
        { "0.0.0.0/0", "::/0" },
        { "\"via\"", "\"by\"" },
        { "net.ipv6.conf", "kernel.conf" },
        { "accept_ra", "../../x" },
        { "accept_ra", "x/y" },
        { "accept_ra", "." },
        { "\"0\"}", "\"0\\n1\"}" },
        { "\"0\"}", "\"\"}" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        char text[1024];
        struct plan plan;
        struct cni_error error = { 0 };
        with(changes[i][0], changes[i][1], text);
        if (plan_decode(text, strlen(text), &plan, &error) == 0)
            fail_msg("taken: %s", text);
        assert_int_equal(error.code, CNI_INTERNAL);
        assert_true(error.message[0] && error.remedy[0]);
    }
}

/* The plugin prints the fault document-part-wanted, with the place that it has in the answer. */
static void what_is_wanted_is_named(void **state)
{
    (void)state;
    char text[1024];
    struct plan plan;
    struct cni_error error = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    with("\"alias\"", "\"x\"", text);
    assert_true(plan_decode(text, strlen(text), &plan, &error) < 0);
    assert_non_null(strstr(error.message, ":1:1: alias is wanted"));
    fault_raise(&faults, "agentd's plan:1:1", document_part_wanted, .part = "alias");
    const struct fault *fault = raised(&faults, "document-part-wanted");
    AUTOFREE char *told = text_format("%s: %s", fault->place, fault->message);
    assert_string_equal(error.message, told);
}

static void a_list_is_not_too_long(void **state)
{
    (void)state;
    AUTOTEXT struct text list = { 0 };
    char text[8192];
    struct plan plan;
    struct cni_error error;
    for (int i = 0; i <= PLAN_LIST_MAX; i++)
        text_addf(&list, "%s\"10.1.%d.%d/32\"", i ? "," : "", i / 256, i % 256);
    (void)snprintf(text, sizeof(text),
                   "{\"interface\":\"a\",\"hostInterface\":\"b\",\"alias\":\"c\","
                   "\"addresses\":[%s]}",
                   text_str(&list));
    assert_true(plan_decode(text, strlen(text), &plan, &error) < 0);
}

static void replies_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        long status; /* 0: it is none */
        const char *body;
    } replies[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, "{}" },
        { "HTTP/1.0 503 x\r\ncontent-length:0\r\n\r\n", 503, "" },
        { "HTTP/1.1 204\r\n\r\n", 204, "" },
        { "HTTP/1.1 200 OK\r\nX: Content-Length: 9\r\n\r\nrest", 200, "rest" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", 0, NULL },
        { "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", 0, NULL },
        { "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}", 0, NULL },
        { "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}", 0, NULL },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, NULL },
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", 0, NULL },
        { "HTTP/1.1 099 OK\r\n\r\n", 0, NULL },
        { "HTTP/1.1 2x0 OK\r\n\r\n", 0, NULL },
        { "HTTP/2 200 OK\r\n\r\n", 0, NULL },
        { "HTTP/1.1 20", 0, NULL },
        { "", 0, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        long status = 0;
        const char *body = NULL;
        int r = reply_parse(replies[i].bytes, strlen(replies[i].bytes), &status, &body);
        assert_int_equal(r, replies[i].status ? 0 : -EPROTO);
        if (r == 0) {
            assert_int_equal(status, replies[i].status);
            assert_string_equal(body, replies[i].body);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_decoded),
        cmocka_unit_test(what_is_not_understood_is_refused),
        cmocka_unit_test(what_is_wanted_is_named),
        cmocka_unit_test(a_list_is_not_too_long),
        cmocka_unit_test(replies_are_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
