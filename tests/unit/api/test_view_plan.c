// SPDX-License-Identifier: Apache-2.0
/* The document of a plan, which needs no agent: all of it, and with NAT. */
#include <string.h>

#include "cmocka_all.h"
#include "plan/link_table.h"
#include "state.h"

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

static void test_plan_needs_no_agent(void **state)
{
    struct made_state *made = *state;
    const struct sorted nat = SORTED(struct nat_row *, nat_row_cmp);
    const struct api_state offline = {
        .config = made->config,
        .store = made->store,
        .plan = &made->plan,
        .nat = &nat,
    };
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };

    faults_add(&faults, "a.yaml:1:2", "mend it", "is broken");
    view_plan(&offline, &faults, &out);
    AUTOTEXT struct text head = { 0 };
    const char *addresses = strstr(text_str(&out), "{\"prefix\":\"10.96.0.1/32\"");
    assert_non_null(addresses);
    text_add_bytes(&head, text_str(&out), (size_t)(addresses - text_str(&out)));
    assert_document(
        &head, "{'apiVersion':'v1','kind':'Plan','node':'node-1','routes':["
               "{'table':119,'entry':'blackhole 10.0.0.1/32 proto 31'},"
               "{'table':119,'entry':'blackhole 10.224.0.0/27 proto 30'},"
               "{'table':120,'entry':'unreachable 10.0.0.1/32 proto 33'},"
               "{'table':120,'entry':'unreachable fd00::2/128 proto 33'},"
               "{'table':254,'entry':'unreachable 10.224.0.0/27 proto 33 metric 4278198272'}],"
               "'rules':['1990: not from all iif lo lookup 120 proto 33 (IPv4)',"
               "'1990: not from all iif lo lookup 120 proto 33 (IPv6)'],"
               "'addresses':[{'prefix':'10.0.0.1/32','kind':'service','state':'announced',"
               "'reason':'announced','reasonText':'announced','protocol':31,'table':119,"
               "'guarded':true,'heldForMs':null,'objects':[{'namespace':'default','name':'web',"
               "'origin':'loadBalancer','reason':'announced','reasonText':'announced','ports':2,"
               "'forwarding':1}]},");
    assert_non_null(strstr(
        text_str(&out),
        "],\"nat\":[],\"egress\":null,\"exports\":null,"
        "\"faults\":[{\"subsystem\":\"plan\",\"group\":\"\",\"code\":null,\"severity\":\"degraded\","
        "\"place\":\"a.yaml:1:2\",\"message\":\"is broken\","
        "\"remedy\":\"mend it\",\"since\":null,\"follows\":null}]}"));
}

/* One Service in both families, each with what the other has not. */
static void test_plan_of_nat(void **state)
{
    struct made_state *made = *state;
    struct nat_endpoint near = { .port = 8080 }, far = { .port = 8080 };
    struct prefix ranges[2];
    struct ip vip, six;
    assert_int_equal(ip_parse("10.244.1.5", &near.ip), 0);
    assert_int_equal(ip_parse("fd00::5", &far.ip), 0);
    assert_int_equal(ip_parse("198.51.100.1", &vip), 0);
    assert_int_equal(ip_parse("fd00:96::1", &six), 0);
    assert_int_equal(prefix_parse("10.0.0.0/8", &ranges[0]), 0);
    assert_int_equal(prefix_parse("203.0.113.0/24", &ranges[1]), 0);
    struct nat_port ports[] = {
        { .name = (char *)"http", .sets[NAT_SET_CLUSTER] = { &near, 1, 1 } },
        { .name = (char *)"", .sets[NAT_SET_CLUSTER] = { &far, 1, 1 } },
    };
    const struct nat_outcome forward = { NAT_ACT_FORWARD, NAT_CAUSE_NONE, NAT_SET_CLUSTER, true };
    const struct nat_outcome drop = { NAT_ACT_DROP, NAT_CAUSE_NO_LOCAL, NAT_SET_LOCAL, false };
    struct nat_frontend frontends[] = {
        { vip, PROTOCOL_TCP, 80, NAT_FRONTEND_LOAD_BALANCER, 0, { drop, forward, forward } },
        { six, PROTOCOL_UDP, 53, NAT_FRONTEND_CLUSTER_IP, 0, { forward, forward, forward } },
    };
    struct nat_row row = {
        .namespace = (char *)"default",
        .name = (char *)"web",
        .affinity_seconds = 60,
        .health_check_node_port = 30099,
        .family_count = 2,
        .families = { { .family = IP_V4,
                        .local_ready = 3,
                        .ports = { &ports[0], 1, 1 },
                        .frontends = { &frontends[0], 1, 1 },
                        .source_ranges = { ranges, 2, 2 } },
                      { .family = IP_V6,
                        .ports = { &ports[1], 1, 1 },
                        .frontends = { &frontends[1], 1, 1 } } },
    };
    struct sorted nat = SORTED(struct nat_row *, nat_row_cmp);
    const struct nat_row *rows = &row;
    assert_int_equal(sorted_put(&nat, &rows), 0);
    const struct api_state offline = {
        .config = made->config,
        .store = made->store,
        .plan = &made->plan,
        .nat = &nat,
    };
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    view_plan(&offline, &faults, &out);
    sorted_done(&nat);
    AUTOTEXT struct text tail = { 0 };
    text_add(&tail,
             strstr(text_str(&out), "{\"namespace\":\"default\",\"name\":\"web\",\"family\""));
#define SIX "{'verdict':'forward','reason':'none','endpoints':['[fd00::5]:8080'],'masquerade':true}"
#define FOUR \
    "{'verdict':'forward','reason':'none','endpoints':['10.244.1.5:8080'],'masquerade':true}"
    assert_document(
        &tail, "{'namespace':'default','name':'web','family':4,'healthCheckNodePort':{'port':30099,"
               "'localReady':3},'affinitySeconds':60,'frontends':[{'address':'198.51.100.1',"
               "'port':80,'protocol':'TCP','kind':'loadBalancer','portName':'http',"
               "'sourceRanges':['10.0.0.0/8','203.0.113.0/24'],"
               "'from':{'outside':{'verdict':'drop','reason':'no-local-endpoints',"
               "'endpoints':[],'masquerade':false},'pod':" FOUR ",'node':" FOUR "}}]},"
               "{'namespace':'default','name':'web','family':6,'healthCheckNodePort':{'port':30099,"
               "'localReady':0},'affinitySeconds':60,'frontends':[{'address':'fd00:96::1',"
               "'port':53,'protocol':'UDP','kind':'clusterIP','portName':'','sourceRanges':null,"
               "'from':{'outside':" SIX ",'pod':" SIX ",'node':" SIX
               "}}]}],'egress':null,'exports':null,'faults':[]}");
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_plan_needs_no_agent),
        WITH_STATE(test_plan_of_nat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
