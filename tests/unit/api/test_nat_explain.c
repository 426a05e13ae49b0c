// SPDX-License-Identifier: Apache-2.0
/* What NAT has to say where an address is explained: its ports, its proof, whose it is. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "nat_state.h"

static int setup(void **state)
{
    *state = made_nat_new(made_state_new());
    return 0;
}

static int teardown(void **state)
{
    struct made_nat *nat = *state;
    struct made_state *made = nat->state;
    made_nat_free(nat);
    made_state_free(made);
    return 0;
}

static bool explain(const struct made_nat *nat, const char *address, uint16_t port,
                    enum protocol protocol, struct text *out)
{
    struct explain_query query = { .port = port, .protocol = protocol };
    assert_int_equal(ip_parse(address, &query.address), 0);
    return view_explain(&nat->state->api, &query, out);
}

#define TO_WEB   "{'verdict':'forward','reason':'none','endpoints':['10.224.0.3:8080'],'masquerade':"
#define REJECTED "{'verdict':'reject','reason':'no-endpoints','endpoints':[],'masquerade':false}"
#define FRONTEND(protocol, port, name, kind, outside, pod, node)                     \
    "'port':" #port ",'protocol':'" protocol "','kind':'" kind "','portName':'" name \
    "','sourceRanges':null,'from':{'outside':" outside ",'pod':" pod ",'node':" node "}}"
#define WEB "{'namespace':'default','name':'web','affinitySeconds':null,'address':"

static void test_explain_an_announced_address(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 };

    made_refusal(nat, 1, NAT_CAUSE_NO_ENDPOINTS, 12, 20000, "10.96.0.1");
    made_refusal(nat, 2, NAT_CAUSE_NO_LOCAL, 7, 60000, "10.96.0.2");
    made_refusal(nat, 0, NAT_CAUSE_UNMAPPED_PORT, 3, 60000, "10.0.0.1");
    made_refusal(nat, 0, NAT_CAUSE_UNMAPPED_PORT, 3, 60000, "10.0.0.2");
    assert_true(explain(nat, "10.0.0.1", 0, 0, &out));
    assert_document_part(
        &out, "\"nat\"", ",\"egress\"",
        "'nat':{'proof':{'asPlanned':true,'served':true,'why':null},'frontends':[" WEB
        "'10.0.0.1'," FRONTEND(
            "TCP", 80, "http", "loadBalancer", TO_WEB "false}", TO_WEB "false}",
            TO_WEB
            "true}") "," WEB
                     "'10.0.0.1'," FRONTEND(
                         "UDP", 53, "dns", "loadBalancer", REJECTED, REJECTED,
                         REJECTED) "],"
                                   "'otherPorts':{'verdict':'reject','reason':'unmapped-port',"
                                   "'reasonText':'an address of a Service without that port'},'refusals':[" REFUSAL(
                                       "null", "unmapped-port",
                                       "an address of a Service without that port", 3,
                                       "10.0.0.1:80",
                                       "32:20") "," REFUSAL("'default/web'", "no-endpoints",
                                                            "no usable endpoint anywhere", 12,
                                                            "10.96.0.1:80", "33:00") "]}");
}

static void test_explain_one_port(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text udp = { 0 }, none = { 0 };

    assert_true(explain(nat, "10.0.0.1", 53, PROTOCOL_UDP, &udp));
    assert_document_part(&udp, "\"frontends\"", ",\"otherPorts\"",
                         "'frontends':[" WEB "'10.0.0.1'," FRONTEND(
                             "UDP", 53, "dns", "loadBalancer", REJECTED, REJECTED, REJECTED) "]");
    assert_true(explain(nat, "10.0.0.1", 53, PROTOCOL_TCP, &none));
    assert_document_part(&none, "\"frontends\"", ",\"otherPorts\"", "'frontends':[]");
}

static void test_explain_why_an_address_is_not_proved(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text failed = { 0 }, unknown = { 0 };

    nat->proof.as_planned = nat->proof.served = false;
    strcpy(nat->proof.why, "10.0.0.1:80/TCP from outside: pass");
    assert_true(explain(nat, "10.0.0.1", 0, 0, &failed));
    assert_document_part(
        &failed, "\"proof\"", ",\"frontends\"",
        "'proof':{'asPlanned':false,'served':false,'why':'10.0.0.1:80/TCP from outside: pass'}");
    nat->proof.address.bytes[3]++;
    assert_true(explain(nat, "10.0.0.1", 0, 0, &unknown));
    assert_document_part(&unknown, "\"proof\"", ",\"frontends\"", "'proof':null");
}

static void expect_other_ports(const struct made_nat *nat, const char *address,
                               const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    assert_true(explain(nat, address, 0, 0, &out));
    assert_document_part(&out, "\"otherPorts\"", ",\"reasonText\"", expected);
}

static void test_other_ports(void **state)
{
    struct made_nat *nat = *state;

    expect_other_ports(nat, "10.96.0.1",
                       "'otherPorts':{'verdict':'reject','reason':'undefined-port'");
    expect_other_ports(nat, "10.96.0.3", "'otherPorts':{'verdict':'pass','reason':'other-proxy'");
    expect_other_ports(nat, "10.96.0.99", "'otherPorts':{'verdict':'drop','reason':'unallocated'");
    expect_other_ports(nat, "fd00::2", "'otherPorts':{'verdict':'reject','reason':'unmapped-port'");
    expect_other_ports(nat, "10.224.0.3", "'otherPorts':{'verdict':'pass','reason':'none'");
}

/* Nobody announces them: an address with node ports, and one that no Service has. */
static void test_explain_what_only_nat_knows(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text node = { 0 }, free_one = { 0 }, none = { 0 };

    assert_true(explain(nat, "10.1.0.7", 0, 0, &node));
    assert_document_part(
        &node, "{", ",\"nat\"",
        "{'apiVersion':'v1','kind':'Explanation','address':'10.1.0.7','state':'none',"
        "'reason':'node-port','reasonText':'an address of this node, with node ports; its "
        "network announces it','block':null,'route':null,'direct':null,'pool':null,'services':[],"
        "'claim':null,'holder':{'node':{'name':'node-1','local':true,'addresses':['10.1.0.7'],"
        "'podCIDRs':[],'ready':false,'excluded':false},'pods':[],'endpointOf':[]},"
        "'tenant':null");
    assert_non_null(strstr(text_str(&node), "\"port\":30080"));
    assert_true(explain(nat, "10.96.0.99", 0, 0, &free_one));
    assert_document_part(&free_one, "\"state\"", ",\"block\"",
                         "'state':'none','reason':'unallocated',"
                         "'reasonText':'in services.serviceCIDRs, and no Service has it'");
    assert_false(explain(nat, "192.0.2.9", 0, 0, &none));
    nat->state->api.nat = NULL;
    assert_false(explain(nat, "10.96.0.99", 0, 0, &none));
    assert_int_equal(none.length, 0);
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_explain_an_announced_address),         WITH_STATE(test_explain_one_port),
        WITH_STATE(test_explain_why_an_address_is_not_proved), WITH_STATE(test_other_ports),
        WITH_STATE(test_explain_what_only_nat_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
