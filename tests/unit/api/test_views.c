// SPDX-License-Identifier: Apache-2.0
/* The JSON documents, whole, from a state made by hand. */
#include <linux/rtnetlink.h>
#include <string.h>

#include "api/view_faults.h"
#include "cmocka_all.h"
#include "faults/bgp.h"
#include "faults/raise.h"
#include "plan/link_table.h"
#include "state.h"

typedef void (*view_function)(const struct api_state *state, struct text *out);

/* "reach" where no BIRD is asked, and where nothing stands. */
#define UNWATCHED \
    "'reach':{'state':'unwatched','why':'BIRD is not asked (bird.socket)','sent':0,'meant':0},"
#define ABSENT "'reach':{'state':'absent','why':'no route stands in the table','sent':0,'meant':0},"

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

static void expect(const struct made_state *made, view_function view, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    view(&made->api, &out);
    assert_document(&out, expected);
}

static void test_status(void **state)
{
    struct made_state *made = *state;

    made_fault(made, "manifests", "web.yaml", "web.yaml:3:1", "is \"odd\"", "mend it");
    expect(
        made, view_status,
        "{'apiVersion':'v1','kind':'Status','node':'node-1','version':'0.1.0',"
        "'health':'degraded','phase':'running','startedAt':'2026-11-17T02:32:20Z',"
        "'uptimeSeconds':277260,"
        "'config':{'path':'/etc/fingerpost/agentd.yaml','loadedAt':'2026-11-17T02:32:20Z',"
        "'refused':false},"
        "'sources':[{'name':'manifests','path':'/etc/fingerpost/manifests','synced':true,"
        "'observedGeneration':8,'appliedGeneration':7,'files':3,'brokenFiles':1,"
        "'ignoredFiles':2,'objects':{'Service':1,'EndpointSlice':2,'Node':0,'Namespace':0,"
        "'Pod':0,'AddressPool':0,'AddressBlock':0,'BlockRequest':0,'Egress':0,'IPAddressPool':0,"
        "'BGPAdvertisement':0,'L2Advertisement':0},'ignoredObjects':5,"
        "'lastEventAt':'2026-11-20T07:33:20Z','kinds':[],'copy':null}],"
        "'routes':{'complete':true,'wanted':6,'installed':6,'foreign':1,'blocked':0,"
        "'refused':0,'announced':1,'blockedAddresses':0,'reach':{'announced':0,'partly':0,'nobody':0,"
        "'unknown':0,'unwatched':1,'absent':0},'withheld':2,'held':1,'blocks':1,'added':9,'replaced':2,"
        "'deleted':3,'repairs':1,'passes':20,'fullPasses':4,"
        "'lastFullPassAt':'2026-11-20T07:33:20Z','lastFullPassMs':1.250},"
        "'writes':{'enabled':false,'written':0,'retries':0,'conflicts':0,'refused':0,'lost':0,"
        "'found':0,'dropped':0,'waiting':0,'running':0,'items':[]},"
        "'standing':{'phase':'serving','since':null,'endsInMs':null,'reason':null,'nodeGone':false},"
        "'bgp':{'enabled':false,'socket':null,'reachable':false,'error':null,'since':null,"
        "'version':null,'peers':0,'established':0,'announced':0,"
        "'learned':{'ipv4':null,'ipv6':null},'expected':{'ipv4':0,'ipv6':0},"
        "'expectsNone':false,'unheard':false,'overflowsHeard':false,'overflows':0},'consul':null,"
        "'services':{'enabled':false,'count':1},"
        "'nat':{'enabled':false,'complete':false,'method':null,'interfaces':[],"
        "'hookPackets':{'uplink-in':0,'uplink-out':0,'pod-in':0,'pod-out':0,'lo-out':0,"
        "'svc-out':0},'path':{'inForce':null,'listener':null},"
        "'defragmentation':{'ipv4':'unknown','ipv6':'unknown'},'services':0,"
        "'frontends':0,'endpoints':0,'proved':0,'unproved':0,'passes':0,'fullPasses':0,"
        "'writes':0,'repairs':0,'lastPassAt':null,'lastPassMs':0.000,"
        "'lastFullPassAt':null,'lastFullPassMs':0.000,"
        "'flows':{'established':0,'states':{'half-open':0,'unanswered':0,'exchange':0,"
        "'answered':0,'closed':0,'half-closed':0,'stream':0,'established':0},'ended':0,"
        "'dropped':0,'refused':0,'lastSweepAt':null,'lastSweepMs':0.000},"
        "'sourcePorts':{'searched':0,'dropped':0,'refused':0},'maps':[],'bytes':0,'refusals':[]},"
        "'firewall':{'mode':'off','there':false,'openings':0,'closedAddresses':0,'added':0,"
        "'removed':0,'replaced':0,'repairs':0,'openedPackets':0,'closedPackets':0},'egress':null,"
        "'faults':[{'subsystem':'manifests','group':'web.yaml','code':null,"
        "'severity':'degraded','place':'web.yaml:3:1',"
        "'message':'is \\'odd\\'','remedy':'mend it','since':'2026-11-20T07:33:20Z','follows':null}]}");
}

static void test_health(void **state)
{
    struct made_state *made = *state;
    struct route_status *routes = &made->status.routes;

    assert_string_equal(view_health(&made->api), "healthy");

    routes->installed = 5;
    assert_string_equal(view_health(&made->api), "degraded");
    routes->refused = 5;
    assert_string_equal(view_health(&made->api), "degraded");
    routes->refused = 6;
    routes->installed = 0;
    assert_string_equal(view_health(&made->api), "failed");
    routes->wanted = routes->refused = 0;
    assert_string_equal(view_health(&made->api), "healthy");

    made->status.config_refused = true;
    assert_string_equal(view_health(&made->api), "degraded");
    made->status.config_refused = false;

    routes->complete = false;
    assert_string_equal(view_health(&made->api), "starting");
    made_fault(made, "manifests", "web.yaml", "web.yaml", "broken", NULL);
    assert_string_equal(view_health(&made->api), "starting");
    made->status.source.synced = false;
    assert_string_equal(view_health(&made->api), "starting");
    made_fault(made, "manifests", "", "/etc/fingerpost/manifests", "is not there", NULL);
    assert_string_equal(view_health(&made->api), "failed");
    made->status.source.synced = routes->complete = true;
    assert_string_equal(view_health(&made->api), "degraded");
}

static void all_faults(const struct api_state *state, struct text *out)
{
    view_fault_list(state->status->faults, NULL, out);
}

static void faults_of_a_code(const struct api_state *state, struct text *out)
{
    view_fault_list(state->status->faults, "bgp-no-session", out);
}

static void test_faults(void **state)
{
    struct made_state *made = *state;

    expect(made, all_faults, "{'apiVersion':'v1','kind':'FaultList','items':[]}");
    made_fault(made, "routes", "pass", "pass", "failed", NULL);
    made_fault(made, "config", "", "agentd.yaml", "refused", "mend it");
    expect(made, all_faults,
           "{'apiVersion':'v1','kind':'FaultList','items':["
           "{'subsystem':'config','group':'','code':null,'severity':'degraded',"
           "'place':'agentd.yaml','message':'refused',"
           "'remedy':'mend it','since':'2026-11-20T07:33:20Z','follows':null},"
           "{'subsystem':'routes','group':'pass','code':null,'severity':'degraded',"
           "'place':'pass','message':'failed',"
           "'remedy':null,'since':'2026-11-20T07:33:20Z','follows':null}]}");
    expect(made, faults_of_a_code, "{'apiVersion':'v1','kind':'FaultList','items':[]}");
}

static void test_a_fault_of_the_catalogue(void **state)
{
    struct made_state *made = *state;
    AUTOFAULTS struct faults faults = { 0 };
    assert_string_equal(view_health(&made->api), "healthy");
    fault_raise(&faults, "tor1", bgp_session_missing);
    fault_book_replace(made->status.faults, "bgp", "sessions", &faults, 1795246400000);
    assert_string_equal(view_health(&made->api), "degraded");
    fault_raise(&faults, "BIRD", bgp_no_session);
    fault_book_replace(made->status.faults, "bgp", "sessions", &faults, 1795246400000);
    assert_string_equal(view_health(&made->api), "failed");
    made_fault(made, "config", "", "agentd.yaml", "refused", "mend it");
    expect(made, faults_of_a_code,
           "{'apiVersion':'v1','kind':'FaultList','items':["
           "{'subsystem':'bgp','group':'sessions','code':'bgp-no-session','severity':'failed',"
           "'place':'BIRD','message':'BIRD has no BGP session: nothing is announced',"
           "'remedy':'give BIRD a BGP protocol with `table fingerpost4; export filter "
           "fingerpost_export;` (fingerpost6 for IPv6); agentctl setup prints one',"
           "'since':'2026-11-21T07:33:20Z','follows':null}]}");
    fault_raise(&faults, "IPv4", bird_routes_stale, .family = "IPv4", .table = 119);
    fault_raise(&faults, "BIRD", bird_notifications_lost);
    fault_book_replace(made->status.faults, "bgp", "routes", &faults, 1795246400000);
    AUTOTEXT struct text out = { 0 };
    view_fault_list(made->status.faults, "bird-routes-stale", &out);
    assert_non_null(strstr(text_str(&out), "\"place\":\"BIRD\"}}]}"));
}

/* 10.96.0.1 is withheld and still installed; the foreign route is nobody's row. */
static void test_routes(void **state)
{
    expect(
        *state, view_routes,
        "{'apiVersion':'v1','kind':'RouteList','items':["
        "{'prefix':'10.224.0.0/27','kind':'block','state':'announced','reason':'announced',"
        "'reasonText':'a pod block of this node','protocol':30,'table':119,'installed':false,"
        "'guarded':true," ABSENT "'hostFaults':[],'heldForMs':null,"
        "'objects':[{'name':'default-0','pool':'default','reserved':true}]},"
        "{'prefix':'10.0.0.1/32','kind':'service','state':'announced','reason':'announced',"
        "'reasonText':'announced','protocol':31,'table':119,'installed':true,'guarded':true," UNWATCHED
        "'hostFaults':[],'heldForMs':null,'objects':[{'namespace':'default','name':'web',"
        "'origin':'loadBalancer','reason':'announced','reasonText':'announced','ports':2,"
        "'forwarding':1}]},"
        "{'prefix':'10.96.0.1/32','kind':'service','state':'withheld',"
        "'reason':'not-advertised','reasonText':'left out by services.advertise',"
        "'protocol':null,'table':119,'installed':true,'guarded':false,'reach':null,'hostFaults':[],'heldForMs':null,"
        "'objects':[{'namespace':'default','name':'web','origin':'clusterIP',"
        "'reason':'not-advertised','reasonText':'left out by services.advertise','ports':2,"
        "'forwarding':1}]},"
        "{'prefix':'fd00::2/128','kind':'service','state':'withheld','reason':'held-down',"
        "'reasonText':'withdrawn a moment ago, comes back after hold-down','protocol':null,"
        "'table':119,'installed':false,'guarded':true,'reach':null,'hostFaults':[],'heldForMs':1500,'objects':["
        "{'namespace':'default','name':'gone','origin':'externalIP','reason':'held-down',"
        "'reasonText':'withdrawn a moment ago, comes back after hold-down','ports':1,"
        "'forwarding':1},"
        "{'namespace':'default','name':'web','origin':'externalIP','reason':'ports-taken',"
        "'reasonText':'its ports belong to an older service','ports':0,'forwarding':0}]}],"
        "'direct':[]}");
}

static bool block_installed(const struct made_state *made)
{
    AUTOTEXT struct text out = { 0 };
    view_blocks(&made->api, &out);
    return strstr(text_str(&out), "\"installed\":true") != NULL;
}

static void test_installed_is_the_very_route(void **state)
{
    struct made_state *made = *state;

    made_route(made, 119, "10.224.0.0/27", RTN_BLACKHOLE, RTPROT_STATIC, 0);
    assert_false(block_installed(made));
    made_route(made, 119, "10.224.0.0/27", RTN_BLACKHOLE, ROUTE_PROTOCOL_SERVICE, 0);
    assert_false(block_installed(made));
    made_route(made, 254, "10.224.0.0/27", RTN_UNREACHABLE, ROUTE_PROTOCOL_BLOCK, 0);
    assert_false(block_installed(made));
    made_route(made, 119, "10.224.0.0/26", RTN_BLACKHOLE, ROUTE_PROTOCOL_BLOCK, 0);
    assert_false(block_installed(made));
    made_route(made, 119, "10.224.0.0/27", RTN_BLACKHOLE, ROUTE_PROTOCOL_BLOCK, 0);
    assert_true(block_installed(made));
}

static void test_blocks(void **state)
{
    expect(
        *state, view_blocks,
        "{'apiVersion':'v1','kind':'BlockList','items':[{'name':'default-0','pool':'default',"
        "'prefix':'10.224.0.0/27','reserved':true,'protocol':30,'installed':false,'size':null,'used':null}]}");
}

/* 192.0.2.7 has no row: the object is newer than the last pass. */
static void test_services(void **state)
{
    expect(
        *state, view_services,
        "{'apiVersion':'v1','kind':'ServiceList','items':[{'namespace':'default','name':'web',"
        "'type':'LoadBalancer','addresses':["
        "{'address':'10.96.0.1','origin':'clusterIP','state':'withheld',"
        "'reason':'not-advertised','reasonText':'left out by services.advertise','hostFaults':[]},"
        "{'address':'192.0.2.7','origin':'externalIP','state':'withheld','reason':null,"
        "'reasonText':null,'hostFaults':[]},"
        "{'address':'10.0.0.1','origin':'loadBalancer','state':'announced',"
        "'reason':'announced','reasonText':'announced','hostFaults':[]}],'pending':[],"
        "'ports':[{'name':'http','protocol':'TCP','port':80,'nodePort':30080,'verdict':null,"
        "'endpoints':null,'localEndpoints':null},"
        "{'name':'dns','protocol':'UDP','port':53,'nodePort':null,'verdict':null,"
        "'endpoints':null,'localEndpoints':null}],"
        "'externalTrafficPolicy':'Local','internalTrafficPolicy':'Cluster',"
        "'traffic':null,'refusals':[],"
        "'source':'manifests','file':'web.yaml','line':1}]}");
}

static void test_diff(void **state)
{
    struct made_state *made = *state;

    made_route(made, 119, "10.224.0.0/27", RTN_BLACKHOLE, RTPROT_STATIC, 0);
    made_route(made, 120, "fd00::2/128", RTN_UNREACHABLE, ROUTE_PROTOCOL_GUARD, 1024);
    made_fault(made, "routes", "10.224.0.0/27 table 254", "10.224.0.0/27 table 254",
               "the kernel refuses", NULL);
    expect(
        made, view_diff,
        "{'apiVersion':'v1','kind':'Diff','items':["
        "{'change':'delete','table':119,'entry':'blackhole 10.96.0.1/32 proto 31',"
        "'reason':'in the kernel, no longer wanted'},"
        "{'change':'add','table':254,"
        "'entry':'unreachable 10.224.0.0/27 proto 33 metric 4278198272',"
        "'reason':'the kernel refuses'},"
        "{'change':'blocked','table':119,'entry':'blackhole 10.224.0.0/27 proto 30',"
        "'reason':'a foreign route stands in its place'},"
        "{'change':'add','table':120,'entry':'1990: not from all iif lo lookup 120 proto 33 (IPv4)',"
        "'reason':'wanted, not in the kernel'},"
        "{'change':'add','table':120,'entry':'1990: not from all iif lo lookup 120 proto 33 (IPv6)',"
        "'reason':'wanted, not in the kernel'},"
        "{'change':'foreign','table':119,'entry':'blackhole 10.224.0.0/27 proto static',"
        "'reason':'not ours (protocol 4), left alone'},"
        "{'change':'foreign','table':119,'entry':'blackhole 192.0.2.0/24 proto static',"
        "'reason':'not ours (protocol 4), left alone'}],"
        "'nat':[],'differences':5,'foreign':2}");
}

static void test_diff_removes_nothing_before_the_source_synced(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };

    made->status.source.synced = false;
    view_diff(&made->api, &out);
    assert_null(strstr(text_str(&out), "delete"));
}

static bool explain(const struct made_state *made, const char *address, struct text *out)
{
    struct ip ip;
    assert_int_equal(ip_parse(address, &ip), 0);
    return view_explain(&made->api, &(struct explain_query){ .address = ip }, out);
}

static void test_explain_service(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };

    assert_true(explain(made, "10.0.0.1", &out));
    assert_document(
        &out,
        "{'apiVersion':'v1','kind':'Explanation','address':'10.0.0.1','state':'announced',"
        "'reason':'announced','reasonText':'announced','block':null,"
        "'route':{'prefix':'10.0.0.1/32','kind':'service','state':'announced',"
        "'reason':'announced','reasonText':'announced','protocol':31,'table':119,"
        "'installed':true,'guarded':true," UNWATCHED
        "'hostFaults':[],'heldForMs':null,'objects':[{'namespace':'default',"
        "'name':'web','origin':'loadBalancer','reason':'announced','reasonText':'announced',"
        "'ports':2,'forwarding':1}]},'direct':null,"
        "'pool':null,'services':[{'namespace':'default','name':'web','origin':'loadBalancer',"
        "'reason':'announced','reasonText':'announced','ports':2,'forwarding':1,"
        "'source':'manifests','file':'web.yaml','line':1,'endpoints':["
        "{'address':'10.224.0.3','port':8080,'node':'node-1','ready':true,'serving':true,"
        "'terminating':false,'local':true},"
        "{'address':'10.224.1.3','port':8080,'node':null,'ready':false,'serving':true,"
        "'terminating':true,'local':false}]}],"
        "'claim':null,'holder':null,'tenant':null,'nat':null,'egress':null,'copyAsOf':null,'peers':[],"
        "'kernel':['table 119: blackhole 10.0.0.1/32 proto 31',"
        "'table 120: unreachable 10.0.0.1/32 proto 33'],'hostFaults':[]}");
}

/* Faults of the host are told with addresses of their family; those of objects are not. */
static void test_explain_host_faults(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };

    made_fault(made, "services", "answers", "routes", "a packet from fd00::1, by eth0", NULL);
    made_fault(made, "services", "firewall", "firewall, IPv4", "netfilter drops it", "accept it");
    made_fault(made, "services", "host", "net.ipv6.conf.all.forwarding", "is 0", NULL);
    made_fault(made, "services", "nat", "services.enabled", "NAT cannot be had", NULL);
    made_fault(made, "services", "proof default/web", "Service default/web", "of IPv4", NULL);
    assert_true(explain(made, "10.0.0.1", &out));
    const char *faults = strstr(text_str(&out), ",\"hostFaults\":[{");
    assert_non_null(faults);
    assert_non_null(strstr(faults, "netfilter drops it"));
    assert_non_null(strstr(faults, "NAT cannot be had"));
    assert_null(strstr(faults, "fd00::1"));
    assert_null(strstr(faults, "net.ipv6"));
    assert_null(strstr(faults, "default/web"));
    AUTOTEXT struct text routes = { 0 };
    view_routes(&made->api, &routes);
    assert_non_null(
        strstr(text_str(&routes), "\"hostFaults\":[\"firewall, IPv4\",\"services.enabled\"]"));
}

/* A foreign route in the place of an address: neither announced nor counted so. */
static void test_blocked(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text routes = { 0 }, status = { 0 };

    sorted_clear(&made->installed);
    made_route(made, 119, "10.0.0.1/32", RTN_BLACKHOLE, 4, 0);
    view_routes(&made->api, &routes);
    assert_non_null(
        strstr(text_str(&routes),
               "\"state\":\"blocked\",\"reason\":\"foreign-route\",\"reasonText\":\"a foreign "
               "route has its place in table 119: blackhole 10.0.0.1/32 proto static\""));
    view_status(&made->api, &status);
    assert_non_null(strstr(text_str(&status), "\"announced\":0,\"blockedAddresses\":1,"));
}

/* A service that is gone from the store since the last pass; endpoints of the address's family. */
static void test_explain_shared(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };

    assert_true(explain(made, "fd00::2", &out));
    const char *services = strstr(text_str(&out), "\"services\":");
    assert_non_null(services);
    AUTOTEXT struct text tail = { 0 };
    text_add(&tail, services);
    assert_document(
        &tail,
        "'services':[{'namespace':'default','name':'gone','origin':'externalIP',"
        "'reason':'held-down','reasonText':'withdrawn a moment ago, comes back after hold-down',"
        "'ports':1,'forwarding':1,'source':null,'file':null,'line':null,'endpoints':[]},"
        "{'namespace':'default','name':'web','origin':'externalIP','reason':'ports-taken',"
        "'reasonText':'its ports belong to an older service','ports':0,'forwarding':0,"
        "'source':'manifests','file':'web.yaml','line':1,'endpoints':[{'address':'fd00:1::3','port':null,"
        "'node':'node-2','ready':true,'serving':true,'terminating':false,'local':false}]}],"
        "'claim':null,'holder':null,'tenant':null,'nat':null,'egress':null,'copyAsOf':null,'peers':[],'kernel':[],'hostFaults':[]}");
}

static void test_explain_block(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 };

    made_route(made, 254, "10.224.0.0/27", RTN_UNREACHABLE, ROUTE_PROTOCOL_GUARD,
               ROUTE_METRIC_GUARD);
    assert_true(explain(made, "10.224.0.31", &out));
    assert_document(
        &out,
        "{'apiVersion':'v1','kind':'Explanation','address':'10.224.0.31','state':'announced',"
        "'reason':'announced','reasonText':'in a pod block of this node',"
        "'block':{'name':'default-0','pool':'default','prefix':'10.224.0.0/27','reserved':true,"
        "'protocol':30,'installed':false,'size':null,'used':null},"
        "'route':{'prefix':'10.224.0.0/27','kind':'block','state':'announced',"
        "'reason':'announced','reasonText':'a pod block of this node','protocol':30,"
        "'table':119,'installed':false,'guarded':true," ABSENT "'hostFaults':[],'heldForMs':null,"
        "'objects':[{'name':'default-0','pool':'default','reserved':true}]},"
        "'direct':null,'pool':null,'services':[],'claim':null,'holder':null,'tenant':null,'nat':null,'egress':null,"
        "'copyAsOf':null,'peers':[],"
        "'kernel':['table main: unreachable 10.224.0.0/27 proto 33 metric 4278198272'],'hostFaults':[]}");
}

/* Routes to svc0: by the interface's name where it is known, and by the ClusterIP's network. */
static void test_explain_led(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text out = { 0 }, named = { 0 };
    struct sorted links = SORTED(struct link, link_cmp);
    struct link svc0 = { .ifindex = 7, .name = "svc0" };
    struct net_row net = { .svc0_route = { .ifindex = 7 } };
    struct route route = {
        .table = 254, .metric = 1, .type = RTN_UNICAST, .protocol = 33, .ifindex = 7
    };

    assert_int_equal(prefix_parse("10.96.0.0/12", &net.prefix), 0);
    assert_int_equal(ip_parse("192.0.2.1", &route.source), 0);
    route.prefix = net.prefix;
    assert_int_equal(sorted_put(&made->plan.nets, &net), 0);
    assert_int_equal(sorted_put(&made->installed, &route), 0);
    assert_true(explain(made, "10.96.0.1", &out));
    assert_non_null(strstr(text_str(&out), "\"table main: 10.96.0.0/12 dev if7 proto 33 src "
                                           "192.0.2.1 metric 1\"]"));
    assert_int_equal(sorted_put(&links, &svc0), 0);
    made->api.links = &links;
    assert_true(explain(made, "10.96.0.1", &named));
    assert_non_null(strstr(text_str(&named), "\"table main: 10.96.0.0/12 dev svc0 proto 33 src "
                                             "192.0.2.1 metric 1\"]"));
    made->api.links = NULL;
    sorted_done(&links);
}

static void test_explain_unknown(void **state)
{
    AUTOTEXT struct text out = { 0 };

    assert_false(explain(*state, "10.224.0.32", &out));
    assert_false(explain(*state, "192.0.2.7", &out));
    assert_false(explain(*state, "fd00::1", &out));
    assert_int_equal(out.length, 0);
}

static void test_nothing_at_all(void **state)
{
    struct made_state *made = *state;

    route_plan_done(&made->plan);
    route_plan_init(&made->plan);
    sorted_clear(&made->installed);
    expect(made, view_routes, "{'apiVersion':'v1','kind':'RouteList','items':[],'direct':[]}");
    expect(made, view_blocks, "{'apiVersion':'v1','kind':'BlockList','items':[]}");
    expect(made, view_diff,
           "{'apiVersion':'v1','kind':'Diff','items':[],'nat':[],'differences':0,'foreign':0}");
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STATE(test_status),
        WITH_STATE(test_health),
        WITH_STATE(test_faults),
        WITH_STATE(test_a_fault_of_the_catalogue),
        WITH_STATE(test_routes),
        WITH_STATE(test_installed_is_the_very_route),
        WITH_STATE(test_blocks),
        WITH_STATE(test_services),
        WITH_STATE(test_diff),
        WITH_STATE(test_diff_removes_nothing_before_the_source_synced),
        WITH_STATE(test_explain_service),
        WITH_STATE(test_explain_host_faults),
        WITH_STATE(test_blocked),
        WITH_STATE(test_explain_shared),
        WITH_STATE(test_explain_block),
        WITH_STATE(test_explain_led),
        WITH_STATE(test_explain_unknown),
        WITH_STATE(test_nothing_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
