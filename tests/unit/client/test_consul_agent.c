// SPDX-License-Identifier: Apache-2.0
/* Words of the Consul agent's API: what is read of answers, and the bodies of what is told. */
#include "client/consul/consul_agent.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"

static int add_service(void *context, const struct consul_agent_service *service)
{
    text_addf(context, "%s %s %s %u %d %s\n", service->id, service->name, service->address,
              service->port, consul_agent_has_tag(service, "t"), consul_agent_meta(service, "m"));
    return 0;
}

static int add_check(void *context, const struct consul_agent_check *check)
{
    text_addf(context, "%s %s %s%s\n", check->service, check->status, check->output,
              check->maintenance ? check->maintenance : "");
    return 0;
}

static void reads_services(void **state)
{
    (void)state;
    static const char answer[] =
        "{\"a\":{\"ID\":\"a\",\"Service\":\"n\",\"Tags\":[\"s\",\"t\"],\"Meta\":{\"m\":\"x\"},"
        "\"Port\":80,\"Address\":\"10.0.0.1\",\"Weights\":{\"Passing\":1}},"
        "\"b\":{\"ID\":\"b\",\"Service\":\"b\",\"Tags\":null,\"Meta\":{},\"Port\":0}}";
    AUTOTEXT struct text out = { 0 };
    assert_int_equal(consul_agent_read_services(answer, strlen(answer), add_service, &out), 0);
    assert_string_equal(text_str(&out), "a n 10.0.0.1 80 1 x\nb b  0 0 \n");
}

/* Those of ours, for which the name alone does not do, and of maintenance. */
static void reads_checks(void **state)
{
    (void)state;
    static const char answer[] =
        "{\"fingerpost:a\":{\"CheckID\":\"fingerpost:a\",\"ServiceID\":\"a\",\"Status\":"
        "\"passing\",\"Output\":\"fine\"},"
        "\"fingerpost:b\":{\"CheckID\":\"fingerpost:b\",\"ServiceID\":\"c\",\"Status\":\"x\"},"
        "\"d\":{\"CheckID\":\"d\",\"ServiceID\":\"d\",\"Status\":\"passing\"},"
        "\"_node_maintenance\":{\"CheckID\":\"_node_maintenance\",\"Status\":\"critical\","
        "\"Notes\":\"disk\"}}";
    AUTOTEXT struct text out = { 0 };
    assert_int_equal(consul_agent_read_checks(answer, strlen(answer), add_check, &out), 0);
    assert_string_equal(text_str(&out), "a passing fine\n critical disk\n");
}

static void refuses_what_is_no_answer(void **state)
{
    (void)state;
    static const char *const answers[] = { "", "[]", "null", "{", "{\"a\":1}", "{\"a\":{}}" };
    AUTOTEXT struct text out = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
        assert_int_equal(
            consul_agent_read_services(answers[i], strlen(answers[i]), add_service, &out),
            -EBADMSG);
    assert_int_equal(consul_agent_read_checks("[]", 2, add_check, &out), -EBADMSG);
}

static void writes_bodies(void **state)
{
    (void)state;
    const struct consul_registration registration = {
        .id = "c-ns-n-p",
        .address = "fd00::1",
        .port = 30000,
        .tags = { "c", "kube-service-exporter" },
        .meta = { { "k", "v" }, { "l", "w" }, { "m", "x" } },
        .tcp = true,
        .health_port = 31000,
        .ttl_s = 60,
    };
    AUTOTEXT struct text body = { 0 }, update = { 0 };
    consul_agent_register(&registration, &body);
    assert_string_equal(
        text_str(&body),
        "{\"ID\":\"c-ns-n-p\",\"Name\":\"c-ns-n-p\",\"Tags\":[\"c\",\"kube-service-exporter\"],"
        "\"Address\":\"fd00::1\",\"Port\":30000,\"Meta\":{\"k\":\"v\",\"l\":\"w\",\"m\":\"x\"},"
        "\"Checks\":[{\"CheckID\":\"fingerpost:c-ns-n-p\",\"Name\":\"Fingerpost\",\"TTL\":\"60s\","
        "\"Status\":\"critical\"},"
        "{\"Name\":\"NodePort\",\"TCP\":\"[fd00::1]:30000\",\"Interval\":\"10s\",\"Timeout\":\"5s\"},"
        "{\"Name\":\"healthCheckNodePort\",\"HTTP\":\"http://[fd00::1]:31000/\",\"Interval\":"
        "\"10s\",\"Timeout\":\"5s\"}]}");
    consul_agent_update(true, "\"", &update);
    assert_string_equal(text_str(&update), "{\"Status\":\"passing\",\"Output\":\"\\\"\"}");
}

/* An id is a part of a path, whatever is in it. */
static void encodes_ids(void **state)
{
    (void)state;
    AUTOTEXT struct text path = { 0 }, check = { 0 };
    consul_agent_remove_path("a/../b?c", &path);
    assert_string_equal(text_str(&path), "/v1/agent/service/deregister/a%2F..%2Fb%3Fc?");
    consul_agent_update_path("a b", &check);
    assert_string_equal(text_str(&check), "/v1/agent/check/update/fingerpost%3Aa%20b?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_services),
        cmocka_unit_test(reads_checks),
        cmocka_unit_test(refuses_what_is_no_answer),
        cmocka_unit_test(writes_bodies),
        cmocka_unit_test(encodes_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
