// SPDX-License-Identifier: Apache-2.0
/* What the documents say of NAT, from planned rows and made live maps. */
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

static void test_verify(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text none = { 0 }, some = { 0 }, failed = { 0 };

    view_verify(&nat->state->api, &none);
    assert_document(&none, "{'apiVersion':'v1','kind':'Verification','items':[],'differences':0,"
                           "'services':3}");
    nat->differences[0][0] = "default/web";
    nat->differences[0][1] = "frontend 10.96.0.1:80/TCP is missing";
    nat->differences[1][0] = "";
    nat->differences[1][1] = "eth0 lacks uplink-in";
    view_verify(&nat->state->api, &some);
    assert_document(&some,
                    "{'apiVersion':'v1','kind':'Verification','items':["
                    "{'service':'default/web','difference':'frontend 10.96.0.1:80/TCP is missing'},"
                    "{'service':null,'difference':'eth0 lacks uplink-in'}],'differences':2,"
                    "'services':3}");
    nat->differences[0][0] = NULL;
    nat->error = -EPERM;
    view_verify(&nat->state->api, &failed);
    assert_document_part(
        &failed, "\"items\"", NULL,
        "'items':[{'service':null,'difference':'the live maps could not be compared: Operation "
        "not permitted'}],'differences':1,'services':3}");
}

static void test_diff_counts_what_verify_finds(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text before = { 0 }, after = { 0 };

    view_diff(&nat->state->api, &before);
    assert_document_part(&before, "\"nat\"", NULL, "'nat':[],'differences':6,'foreign':1}");
    nat->differences[0][0] = "default/web";
    nat->differences[0][1] = "is missing";
    view_diff(&nat->state->api, &after);
    assert_document_part(
        &after, "\"nat\"", NULL,
        "'nat':[{'service':'default/web','difference':'is missing'}],'differences':7,"
        "'foreign':1}");
}

static void test_maps(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 };

    view_maps(&nat->state->api, &out);
    assert_document(&out, "{'apiVersion':'v1','kind':'MapList','items':["
                          "{'name':'frontends','entries':5,'capacity':262144,'fill':0.000,"
                          "'bytes':4194304},"
                          "{'name':'flows','entries':65536,'capacity':524288,'fill':0.125,"
                          "'bytes':12582912}],'bytes':16777216}");
}

static void test_flows(void **state)
{
    struct made_nat *nat = *state;
    struct nat_flow_view *flow;
    AUTOTEXT struct text all = { 0 }, few = { 0 }, one = { 0 }, gone = { 0 };

    made_flow(nat, 1, "10.224.0.3");
    made_flow(nat, 1, "10.224.0.3");
    flow = made_flow(nat, 2, "fd00::9");
    flow->masqueraded = true;
    flow->state = NAT_STATE_HALF_OPEN;
    flow->source_port = 20011;
    flow = made_flow(nat, 0, "10.224.0.3");
    flow->direct = flow->stale = true;
    flow->protocol = 99;
    view_flows(&nat->state->api, NULL, 10, &all);
    assert_int_equal(nat->names_asked, 2); /* once for each run of the same id */
#define FLOW                                                                  \
    "{'service':'default/web','protocol':'TCP','client':'10.0.2.5:43122',"    \
    "'address':'10.96.0.1:80','endpoint':'10.224.0.3:8080','source':null,"    \
    "'masquerade':false,'state':'established','stale':false,'idleSeconds':4," \
    "'toEndpoint':{'packets':12,'bytes':900},'fromEndpoint':{'packets':10,'bytes':14500}}"
    assert_document(&all, "{'apiVersion':'v1','kind':'FlowList','items':[" FLOW "," FLOW ","
                          "{'service':'default/idle','protocol':'TCP','client':'10.0.2.5:43122',"
                          "'address':'10.96.0.1:80','endpoint':'[fd00::9]:8080',"
                          "'source':'10.0.2.5:20011','masquerade':true,'state':'half-open',"
                          "'stale':false,'idleSeconds':4,'toEndpoint':{'packets':12,'bytes':900},"
                          "'fromEndpoint':{'packets':10,'bytes':14500}},"
                          "{'service':null,'protocol':'99','client':'10.0.2.5:43122',"
                          "'address':'10.96.0.1:80','endpoint':'10.224.0.3:8080','source':null,"
                          "'masquerade':false,'state':'direct','stale':true,'idleSeconds':4,"
                          "'toEndpoint':{'packets':12,'bytes':900},"
                          "'fromEndpoint':{'packets':10,'bytes':14500}}],'truncated':false}");
    view_flows(&nat->state->api, NULL, 1, &few);
    assert_document(&few,
                    "{'apiVersion':'v1','kind':'FlowList','items':[" FLOW "],'truncated':true}");
    nat->flows.items[2].hairpin = true;
    nat->flows.items[2].state = NAT_STATE_HALF_CLOSED;
    assert_true(view_flows(&nat->state->api, "default/idle", 1, &one));
    assert_document_part(&one, "\"masquerade\"", "\"stale\"",
                         "'masquerade':'hairpin','state':'half-closed',");
    assert_document_part(&one, "\"truncated\"", NULL, "'truncated':false}");
    assert_false(view_flows(&nat->state->api, "default/gone", 1, &gone));
    made_flow(nat, 3, "10.224.0.3"); /* it has outlived its Service */
    assert_true(view_flows(&nat->state->api, "default/gone", 1, &gone));
}

static void test_own_packets_are_told_from_flows(void **state)
{
    struct made_nat *nat = *state;
    static const struct {
        const char *client;
        uint16_t port;
        bool direct, own;
    } cases[] = {
        { "192.0.2.1", 50000, true, true },   { "192.0.2.1", 50001, true, true },
        { "2001:db8::1", 50000, true, true }, { "192.0.2.1", 50002, true, false },
        { "192.0.2.1", 50000, false, false }, { "10.0.2.5", 50000, true, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOTEXT struct text out = { 0 };
        struct nat_flow_view *flow = made_flow(nat, 0, "10.224.0.3");
        assert_int_equal(ip_parse(cases[i].client, &flow->client), 0);
        flow->client_port = cases[i].port;
        flow->direct = cases[i].direct;
        view_flows(&nat->state->api, NULL, 10, &out);
        assert_int_equal(strstr(text_str(&out), "\"own\":true") != NULL, cases[i].own);
        nat->flows.count = 0;
    }
}

static void test_flows_that_cannot_be_read_are_no_whole_list(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 }, lost = { 0 };

    nat->error = -EPERM;
    view_flows(&nat->state->api, NULL, 10, &out);
    assert_document(&out, "{'apiVersion':'v1','kind':'FlowList','items':[],'truncated':true}");
    nat->error = -ENOMEM;
    view_flows(&nat->state->api, NULL, 10, &lost);
    assert_int_equal(text_error(&lost), -ENOMEM);
}

#define BACKEND(family, port_name, protocol, port, endpoint, sets)                            \
    "'family':" #family ",'portName':'" port_name "','protocol':'" protocol "','port':" #port \
    ",'endpoint':'" endpoint "','sets':" sets

/* web: one ready here, one that serves while it terminates somewhere; IPv6 has no ClusterIP. */
static void test_backends(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text all = { 0 }, one = { 0 }, none = { 0 };

    made_flow(nat, 1, "10.224.0.3");
    made_flow(nat, 1, "10.224.0.3");
    made_flow(nat, 1, "10.224.7.7");                /* gone since */
    made_flow(nat, 2, "10.224.0.3");                /* another Service's */
    made_flow(nat, 1, "10.224.0.3")->protocol = 17; /* another port's */
    made_flow(nat, 1, "10.224.0.3")->direct = true;
    made_flow(nat, 3, "10.224.0.3");
    assert_true(view_backends(&nat->state->api, NULL, &all));
    assert_document(
        &all,
        "{'apiVersion':'v1','kind':'BackendList','items':["
        "{'namespace':'default','name':'idle'," BACKEND(
            4, "", "TCP", 80, "10.224.0.9:8080",
            "[]") ","
                  "'node':'node-1','local':true,'ready':false,'serving':false,"
                  "'terminating':false,'flows':0},"
                  "{'namespace':'default','name':'idle'," BACKEND(
                      4, "", "TCP", 80, "10.224.1.9:8080",
                      "['cluster']") ","
                                     "'node':'node-2','local':false,'ready':true,'serving':true,"
                                     "'terminating':false,'flows':0},"
                                     "{'namespace':'default','name':'web'," BACKEND(
                                         4, "http", "TCP", 80, "10.224.0.3:8080",
                                         "['cluster','local']") ","
                                                                "'node':'node-1','local':true,'ready':true,'serving':true,"
                                                                "'terminating':false,'flows':2},"
                                                                "{'namespace':'default','name':'web'," BACKEND(
                                                                    4, "http", "TCP", 80,
                                                                    "10.224.1.3:8080",
                                                                    "['serving']") ","
                                                                                   "'node':null,'local':false,'ready':false,'serving':true,"
                                                                                   "'terminating':true,'flows':0}]}");
    assert_true(view_backends(&nat->state->api, "default/idle", &one));
    assert_null(strstr(text_str(&one), "\"web\""));
    assert_non_null(strstr(text_str(&one), "10.224.1.9:8080"));
    assert_false(view_backends(&nat->state->api, "default/none", &none));
    assert_false(view_backends(&nat->state->api, "default", &none));
    assert_int_equal(none.length, 0);
}

static void test_copies_of_an_endpoint_are_one(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 };

    made_object(
        nat->state->store,
        "apiVersion: discovery.k8s.io/v1\n"
        "kind: EndpointSlice\n"
        "metadata: { name: a, namespace: default, labels: { kubernetes.io/service-name: idle } }\n"
        "addressType: IPv4\n"
        "ports: [{ port: 8080, protocol: TCP }]\n"
        "endpoints: [{ addresses: [10.224.0.9], conditions: { ready: true } },\n"
        "            { addresses: [10.224.1.9], conditions: { ready: false } }]\n");
    assert_true(view_backends(&nat->state->api, "default/idle", &out));
    assert_document_part(
        &out, "\"items\"", NULL,
        "'items':[{'namespace':'default','name':'idle'," BACKEND(
            4, "", "TCP", 80, "10.224.0.9:8080",
            "[]") ","
                  "'node':null,'local':false,'ready':true,'serving':true,'terminating':false,"
                  "'flows':0},{'namespace':'default','name':'idle'," BACKEND(
                      4, "", "TCP", 80, "10.224.1.9:8080",
                      "['cluster']") ","
                                     "'node':'node-2','local':false,'ready':true,'serving':true,'terminating':false,"
                                     "'flows':0}]}");
}

static void test_many_flows_are_not_counted(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 };

    nat->state->status.nat.flows[NAT_STATE_ESTABLISHED] = 60000;
    nat->state->status.nat.flows[NAT_STATE_HALF_OPEN] = 10000;
    assert_true(view_backends(&nat->state->api, NULL, &out));
    assert_null(strstr(text_str(&out), "\"flows\":0"));
    assert_non_null(strstr(text_str(&out), "\"flows\":null"));
}

#define NO_LOCAL "no usable endpoint on this node (policy Local)"

static void test_services(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 };

    made_refusal(nat, 2, NAT_CAUSE_NO_LOCAL, 7, 60000, "10.96.0.2");
    made_refusal(nat, 2, NAT_CAUSE_UNDEFINED_PORT, 1, 20000, "10.96.0.2");
    made_refusal(nat, 3, NAT_CAUSE_NO_ENDPOINTS, 1, 20000, "10.96.0.9");
    view_services(&nat->state->api, &out);
    assert_document_part(
        &out, "\"ports\":[{\"name\":\"\"", "\"source\":\"manifests\"",
        "'ports':[{'name':'','protocol':'TCP','port':80,'nodePort':null,'verdict':'drop',"
        "'endpoints':1,'localEndpoints':0}],'externalTrafficPolicy':'Cluster',"
        "'internalTrafficPolicy':'Local','traffic':null,'refusals':[" REFUSAL(
            "'default/idle'", "undefined-port", "a ClusterIP without that port", 1, "10.96.0.2:80",
            "33:00") "," REFUSAL("'default/idle'", "no-local-endpoints", NO_LOCAL, 7,
                                 "10.96.0.2:80", "32:20") "],");
    /* 10.0.0.1:80 has a ready endpoint here; no endpoint at all listens for dns. */
    assert_document_part(
        &out, "{\"name\":\"http\"", "\"source\":\"manifests\"",
        "{'name':'http','protocol':'TCP','port':80,'nodePort':30080,'verdict':'forward',"
        "'endpoints':1,'localEndpoints':1},"
        "{'name':'dns','protocol':'UDP','port':53,'nodePort':null,'verdict':'reject',"
        "'endpoints':0,'localEndpoints':0}],'externalTrafficPolicy':'Local',"
        "'internalTrafficPolicy':'Cluster',"
        "'traffic':{'packets':48211,'bytes':36700160,'flows':1204,'refused':12},"
        "'refusals':[],");
}

static void test_a_port_that_is_served_in_part(void **state)
{
    struct made_nat *nat = *state;
    struct nat_row *web = *(struct nat_row **)sorted_at(&nat->rows, 2);
    AUTOTEXT struct text out = { 0 };

    assert_string_equal(web->name, "web");
    vec_each(struct nat_frontend, frontend, &web->families[0].frontends) {
        if (frontend->kind != NAT_FRONTEND_CLUSTER_IP)
            frontend->from[NAT_ORIGIN_OUTSIDE] =
                (struct nat_outcome){ NAT_ACT_DROP, NAT_CAUSE_NO_LOCAL, NAT_SET_LOCAL, false };
    }
    view_services(&nat->state->api, &out);
    assert_document_part(
        &out, "{\"name\":\"http\"", ",\"endpoints\"",
        "{'name':'http','protocol':'TCP','port':80,'nodePort':30080,'verdict':'partly'");
}

static void test_status(void **state)
{
    struct made_nat *nat = *state;
    struct nat_status *status = &nat->state->status.nat;
    AUTOTEXT struct text out = { 0 };
    const struct nat_interface_status eth0 = { "eth0", 0x3, 0x1 }, svc0 = { "svc0", 0x20, 0x20 };

    status->method = "tcx";
    status->path = "stack";
    (void)snprintf(status->listener, sizeof(status->listener), "nftables chain inet guard routed");
    status->defragments[0] = true;
    assert_int_equal(vec_push(&status->interfaces, eth0), 0);
    assert_int_equal(vec_push(&status->interfaces, svc0), 0);
    status->services = 2;
    status->frontends = 5;
    status->endpoints = 12;
    status->proved = 3;
    status->unproved = 1;
    nat_status_synced(status, true, 2500, WALL_MS);
    nat_status_synced(status, false, 900, WALL_MS);
    status->writes = 6;
    status->repairs = 4;
    status->established = 1204;
    status->flows[NAT_STATE_ESTABLISHED] = 1200;
    status->flows[NAT_STATE_HALF_OPEN] = 3;
    status->pressure = (struct nat_pressure){ 900, 11, 12, 13, 14, 15 };
    status->hook_packets[NAT_HOOK_UPLINK_IN] = 48211;
    status->hook_packets[NAT_HOOK_SVC_OUT] = 7;
    status->ended = 77;
    status->last_sweep_wall_ms = WALL_MS;
    status->last_sweep_us = 1500;
    memcpy(status->maps, nat->maps, sizeof(nat->maps));
    status->map_count = 2;
    made_refusal(nat, 2, NAT_CAUSE_NO_LOCAL, 7, 60000, "10.96.0.2");
    made_refusal(nat, 1, NAT_CAUSE_NO_LOCAL, 8, 20000, "10.0.0.1");
    status->complete = false;
    assert_string_equal(view_health(&nat->state->api), "degraded");
    status->complete = true;
    assert_string_equal(view_health(&nat->state->api), "healthy");
    view_status(&nat->state->api, &out);
    assert_document_part(
        &out, "\"nat\"", ",\"firewall\"",
        "'nat':{'enabled':true,'complete':true,'method':'tcx','interfaces':["
        "{'name':'eth0','hooks':['uplink-in'],'missing':['uplink-out']},"
        "{'name':'svc0','hooks':['svc-out'],'missing':[]}],"
        "'hookPackets':{'uplink-in':48211,'uplink-out':0,'pod-in':0,'pod-out':0,'lo-out':0,"
        "'svc-out':7},"
        "'path':{'inForce':'stack','listener':'nftables chain inet guard routed'},"
        "'defragmentation':{'ipv4':'on','ipv6':'unknown'},"
        "'services':2,'frontends':5,'endpoints':12,'proved':3,'unproved':1,'passes':2,"
        "'fullPasses':1,'writes':6,'repairs':4,'lastPassAt':'2026-11-20T07:33:20Z',"
        "'lastPassMs':0.900,'lastFullPassAt':'2026-11-20T07:33:20Z',"
        "'lastFullPassMs':2.500,'flows':{'established':1204,'states':{'half-open':3,'unanswered':0,"
        "'exchange':0,'answered':0,'closed':0,'half-closed':0,'stream':0,'established':1200},"
        "'ended':77,'dropped':11,'refused':12,"
        "'lastSweepAt':'2026-11-20T07:33:20Z','lastSweepMs':1.500},"
        "'sourcePorts':{'searched':13,'dropped':14,'refused':15},"
        "'maps':[{'name':'frontends','entries':5,'capacity':262144,'fill':0.000,'bytes':4194304},"
        "{'name':'flows','entries':65536,'capacity':524288,'fill':0.125,'bytes':12582912}],"
        "'bytes':16777216,'refusals':[" REFUSAL(
            "'default/web'", "no-local-endpoints", NO_LOCAL, 8, "10.0.0.1:80",
            "33:00") "," REFUSAL("'default/idle'", "no-local-endpoints", NO_LOCAL, 7,
                                 "10.96.0.2:80", "32:20") "]}");
}

static void test_status_has_the_latest_refusals_only(void **state)
{
    struct made_nat *nat = *state;
    AUTOTEXT struct text out = { 0 };
    size_t count = 0;

    for (int i = 0; i < 40; i++)
        made_refusal(nat, 1, NAT_CAUSE_NO_LOCAL, (uint64_t)i + 1000, 1000 * i, "10.0.0.1");
    view_status(&nat->state->api, &out);
    for (const char *at = text_str(&out); (at = strstr(at, "\"count\":10")) != NULL; at++)
        count++;
    assert_int_equal(count, 16);
    assert_non_null(strstr(text_str(&out), "\"count\":1000,"));
    assert_null(strstr(text_str(&out), "\"count\":1016,"));
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_verify),
        WITH_STATE(test_diff_counts_what_verify_finds),
        WITH_STATE(test_maps),
        WITH_STATE(test_flows),
        WITH_STATE(test_own_packets_are_told_from_flows),
        WITH_STATE(test_flows_that_cannot_be_read_are_no_whole_list),
        WITH_STATE(test_backends),
        WITH_STATE(test_copies_of_an_endpoint_are_one),
        WITH_STATE(test_many_flows_are_not_counted),
        WITH_STATE(test_services),
        WITH_STATE(test_a_port_that_is_served_in_part),
        WITH_STATE(test_status),
        WITH_STATE(test_status_has_the_latest_refusals_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
