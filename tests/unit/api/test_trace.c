// SPDX-License-Identifier: Apache-2.0
/* GET /v1/trace: the arguments, what each failure is answered with, and the document. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "cmocka_all.h"
#include "state.h"

/* In place of loop/http.c: `connection` is an array of names and values that ends with NULL. */
const char *http_query(const struct http_request *request, const char *name)
{
    const char *const *arguments = request->connection;
    for (; *arguments; arguments += 2) {
        if (strcmp(arguments[0], name) == 0)
            return arguments[1];
    }
    return NULL;
}

/* Requests for a trace have no body. */
const char *http_header(const struct http_request *request, const char *name)
{
    (void)request, (void)name;
    return NULL;
}

bool http_has_body(const struct http_request *request)
{
    (void)request;
    return false;
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

/* What the function that asks the kernel was given, and what it is to say. */
struct asked {
    struct trace_question question;
    char in[16];
    const struct trace *answer;
    int error;
};

static int on_trace(void *context, const struct trace_question *question, struct trace *ret_trace)
{
    struct asked *asked = context;
    asked->question = *question;
    snprintf(asked->in, sizeof(asked->in), "%s", question->in ? question->in : "(null)");
    if (asked->error)
        return asked->error;
    *ret_trace = *asked->answer;
    ret_trace->endpoints = (nat_endpoint_list){ 0 };
    vec_each(const struct nat_endpoint, endpoint, &asked->answer->endpoints)
        assert_int_equal(vec_push(&ret_trace->endpoints, *endpoint), 0);
    assert_int_equal(
        vec_push(&ret_trace->steps, (struct trace_step){ "in", strdup("eth0, as \"asked\"") }), 0);
    return 0;
}

static struct http_reply ask(struct made_state *made, struct asked *asked,
                             const char *const *arguments)
{
    const struct api api = { .state = &made->api, .trace = on_trace, .action_context = asked };
    const struct http_request request = {
        .method = "GET",
        .path = "/v1/trace",
        .connection = (void *)arguments,
    };
    struct http_reply reply = { 0 };

    api_handle(&request, &reply, (void *)&api);
    assert_non_null(reply.body);
    return reply;
}

static struct ip ip(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static void test_wrong_arguments(void **state)
{
    static const char *const cases[][9] = {
        { "destination", "10.0.0.2:80", "protocol", "TCP", NULL },
        { "source", "web", "destination", "10.0.0.2:80", "protocol", "TCP", NULL },
        { "source", "10.0.0.1", "protocol", "TCP", NULL },
        { "source", "10.0.0.1", "destination", "10.0.0.2", "protocol", "TCP", NULL },
        { "source", "10.0.0.1", "destination", "10.0.0.2:80", NULL },
        { "source", "10.0.0.1", "destination", "10.0.0.2:80", "protocol", "GRE", NULL },
        { "source", "10.0.0.1", "destination", "10.0.0.2:80", "protocol", "ICMP", NULL },
        { "source", "10.0.0.1", "destination", "[fd00::2]:80", "protocol", "TCP", NULL },
    };
    static const char *const places[] = { "source=",   "source=",   "destination=", "destination=",
                                          "protocol=", "protocol=", "destination=", "source and" };
    struct asked asked = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *begin = text_format("{\"error\":\"%s", places[i]);
        struct http_reply reply = ask(*state, &asked, cases[i]);
        assert_int_equal(reply.status, 400);
        assert_memory_equal(reply.body, begin, strlen(begin));
        free(reply.body);
    }
    assert_int_equal(asked.question.destination_port, 0); /* nobody was asked */
}

static const char *const good[] = {
    "source", "10.0.0.1:5000", "destination", "10.0.0.2:80", "protocol", "udp", "in", "eth0", NULL,
};

static void test_failures(void **state)
{
    static const struct {
        int error;
        unsigned status;
        const char *begin;
    } cases[] = {
        { -ENODEV, 400, "{\"error\":\"in=eth0: this node has no such interface" },
        { -EADDRNOTAVAIL, 400, "{\"error\":\"in: " },
        { -EOPNOTSUPP, 503, "{\"error\":\"service NAT and egress are off" },
        { -EPERM, 500, "{\"error\":\"Operation not permitted\"}" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct asked asked = { .error = cases[i].error };
        struct http_reply reply = ask(*state, &asked, good);
        assert_int_equal(reply.status, cases[i].status);
        assert_memory_equal(reply.body, cases[i].begin, strlen(cases[i].begin));
        free(reply.body);
    }

    const struct made_state *made = *state;
    const struct api without = { .state = &made->api };
    const struct http_request request = { .method = "GET",
                                          .path = "/v1/trace",
                                          .connection = (void *)good };
    struct http_reply reply = { 0 };
    api_handle(&request, &reply, (void *)&without);
    assert_int_equal(reply.status, 503);
    free(reply.body);
}

static void expect_document(struct made_state *made, const struct trace *answer,
                            const char *const *arguments, const char *expected)
{
    struct asked asked = { .answer = answer };
    struct http_reply reply = ask(made, &asked, arguments);
    AUTOTEXT struct text out = { 0 };

    assert_int_equal(reply.status, 200);
    text_add_bytes(&out, reply.body, reply.size - 1);
    free(reply.body);
    assert_document(&out, expected);
}

static void test_a_forwarded_flow(void **state)
{
    struct nat_endpoint endpoints[] = { { ip("10.244.0.5"), 8080 }, { ip("10.244.1.5"), 8080 } };
    const struct trace answer = {
        .in = "eth0",
        .hook = "uplink-in",
        .act = NAT_ACT_FORWARD,
        .service = "default/web:http",
        .endpoints = { endpoints, 2, 2 },
        .masquerade = TRACE_MASQUERADE_YES,
        .picked = endpoints[1],
        .flow = { true, NAT_HALF_FORWARD, true, true, { ip("10.0.0.9"), 1025 }, endpoints[0], 7 },
    };

    expect_document(
        *state, &answer, good,
        "{'apiVersion':'v1','kind':'Trace','in':'eth0','hook':'uplink-in',"
        "'source':'10.0.0.1:5000','destination':'10.0.0.2:80','protocol':'UDP',"
        "'verdict':'forward','reason':'none','reasonText':'no reason',"
        "'service':'default/web:http','endpoints':['10.244.0.5:8080','10.244.1.5:8080'],"
        "'masquerade':true,'picked':'10.244.1.5:8080',"
        "'flow':{'direction':'forward','established':true,'source':'10.0.0.9:1025',"
        "'destination':'10.244.0.5:8080','masquerade':true,'idleSeconds':7},"
        "'egress':null,'steps':[{'step':'in','text':'eth0, as \\'asked\\''}],'hostFaults':[]}");
}

static void test_a_refused_one(void **state)
{
    static const char *const arguments[] = {
        "source", "fd00::1", "destination", "[fd00::2]:80", "protocol", "TCP", NULL,
    };
    const struct trace answer = {
        .in = "host",
        .act = NAT_ACT_DROP,
        .cause = NAT_CAUSE_SOURCE_RANGE,
    };

    expect_document(
        *state, &answer, arguments,
        "{'apiVersion':'v1','kind':'Trace','in':'host','hook':null,"
        "'source':'fd00::1','destination':'[fd00::2]:80','protocol':'TCP',"
        "'verdict':'drop','reason':'source-range',"
        "'reasonText':'source not in loadBalancerSourceRanges',"
        "'service':null,'endpoints':[],'masquerade':null,'picked':null,'flow':null,"
        "'egress':null,'steps':[{'step':'in','text':'eth0, as \\'asked\\''}],'hostFaults':[]}");
}

static void test_egress(void **state)
{
    static const char *const arguments[] = {
        "source", "10.244.0.5", "destination", "198.51.100.80", "protocol", "icmp", NULL,
    };
    const struct trace answer = {
        .in = "veth1",
        .hook = "pod-in",
        .egress = {
            .side = TRACE_SIDE_CLIENT,
            .act = NAT_ACT_FORWARD,
            .egress = "internet/nat",
            .prefix = ip_network(&(struct ip){ .family = IP_V4 }, 0),
            .gateway = ip("192.0.2.20"),
            .is_begun = true,
            .outer_source = { ip("10.244.0.5"), 5555 },
            .outer_destination = { ip("192.0.2.20"), 5555 },
            .source = { ip("10.244.0.5"), 7 },
            .destination = { ip("198.51.100.80"), 0 },
            .room = 28,
            .out = "eth0",
        },
    };

    expect_document(
        *state, &answer, arguments,
        "{'apiVersion':'v1','kind':'Trace','in':'veth1','hook':'pod-in',"
        "'source':'10.244.0.5','destination':'198.51.100.80','protocol':'ICMP',"
        "'verdict':'pass','reason':'none','reasonText':'no reason',"
        "'service':null,'endpoints':[],'masquerade':null,'picked':null,'flow':null,"
        "'egress':{'side':'client','verdict':'forward','reason':'none','reasonText':'',"
        "'egress':'internet/nat','destination':'0.0.0.0/0','gateway':'192.0.2.20','begun':true,"
        "'outerSource':'10.244.0.5:5555','outerDestination':'192.0.2.20:5555','outerBytes':28,"
        "'fits':null,'source':'10.244.0.5:7','to':'198.51.100.80','out':'eth0'},"
        "'steps':[{'step':'in','text':'eth0, as \\'asked\\''}],'hostFaults':[]}");
}

static void test_words(void **state)
{
    struct nat_endpoint endpoint = { ip("fd00::5"), 8080 };
    struct trace answer = {
        .in = "eth0",
        .act = NAT_ACT_FORWARD,
        .endpoints = { &endpoint, 1, 1 },
        .masquerade = TRACE_MASQUERADE_HAIRPIN,
        .picked = endpoint,
    };
    struct asked asked = { .answer = &answer };
    struct http_reply reply = ask(*state, &asked, good);
    assert_non_null(strstr(reply.body, "\"masquerade\":\"hairpin\""));
    assert_non_null(strstr(reply.body, "\"picked\":\"[fd00::5]:8080\""));
    free(reply.body);

    answer.masquerade = TRACE_MASQUERADE_NO;
    answer.flow = (struct trace_flow){ .found = true, .half = NAT_HALF_DIRECT };
    reply = ask(*state, &asked, good);
    assert_non_null(strstr(reply.body, "\"masquerade\":false"));
    assert_non_null(strstr(reply.body, "\"flow\":{\"direction\":\"direct\",\"established\":false"));
    free(reply.body);
}

static void test_what_is_asked(void **state)
{
    static const char *const anywhere[] = {
        "source", "10.0.0.1", "destination", "10.0.0.2:80", "protocol", "TCP", "in", "", NULL,
    };
    const struct trace answer = { .in = "eth0" };
    const struct ip source = ip("10.0.0.1"), destination = ip("10.0.0.2");
    struct asked asked = { .answer = &answer };
    struct http_reply reply = ask(*state, &asked, good);

    free(reply.body);
    assert_true(ip_equal(&asked.question.source, &source));
    assert_true(ip_equal(&asked.question.destination, &destination));
    assert_int_equal(asked.question.source_port, 5000);
    assert_int_equal(asked.question.destination_port, 80);
    assert_int_equal(asked.question.protocol, PROTOCOL_UDP);
    assert_string_equal(asked.in, "eth0");

    reply = ask(*state, &asked, anywhere);
    free(reply.body);
    assert_int_equal(asked.question.source_port, 0);
    assert_string_equal(asked.in, "(null)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_wrong_arguments), TEST(test_failures), TEST(test_a_forwarded_flow),
        TEST(test_a_refused_one),   TEST(test_egress),   TEST(test_words),
        TEST(test_what_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
