// SPDX-License-Identifier: Apache-2.0
/* Which services Consul's agent is to have, whether they are healthy, and what is written to it. */
#include <stdio.h>

#include "exporting.h"
#include "plan/export/agent_services.h"
#include "plan/export/agent_services_diff.h"
#include "raised.h"

#define ID_HTTP "cluster-default-service1-http"
#define ID_UDP  "cluster-default-service1-dns"
#define NODE                                                                                     \
    "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {addresses: [{type: InternalIP, " \
    "address: 10.1.0.1}, {type: InternalIP, address: 'fd00::1'}]}\n"

/* A Service with a TCP port and a UDP port; what stands behind "spec: {type: LoadBalancer, ". */
#define SERVICE(annotations, more)                                                                \
    "apiVersion: v1\nkind: Service\nmetadata: {name: service1, namespace: default, uid: u1, "     \
    "annotations: {" KSE "exported: 'true'" annotations "}}\n"                                    \
    "spec: {type: LoadBalancer, " more "ports: [{name: http, port: 80, nodePort: 32123}, {name: " \
    "dns, protocol: UDP, port: 53, nodePort: 32124}]}\n"
#define V4 "clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], "
#define V6 "clusterIP: 'fd00:96::1', clusterIPs: ['fd00:96::1'], "

struct planned {
    struct exports exports;
    struct sorted proofs;
    service_failed_routes failed_routes;
    struct agent_services_inputs inputs;
    struct node_facts facts;
    struct agent_services services;
};

static void planned_begin(struct planned *planned)
{
    *planned = (struct planned){ .proofs = SORTED(struct service_proof, service_proof_cmp) };
    exports_begin(&planned->exports);
    struct config *config = planned->exports.objects.config;
    put_text(&config->exports.cluster, "cluster");
    put_text(&config->node, "n1");
    planned->facts = (struct node_facts){
        .store = planned->exports.objects.store,
        .config = config,
    };
    planned->inputs = (struct agent_services_inputs){
        .facts = &planned->facts,
        .failed_routes = &planned->failed_routes,
    };
    put(&planned->exports.objects, NODE);
}

static void planned_done(struct planned *planned)
{
    agent_services_done(&planned->services);
    sorted_done(&planned->proofs);
    vec_done(&planned->failed_routes);
    exports_done(&planned->exports);
}

#define AUTOPLANNED CLEANUP(planned_done)

/* An endpoint on a node, ready or not, of both ports. */
static void put_backend(struct planned *planned, const char *family, const char *address,
                        const char *node, bool ready)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: service1-a, "
        "namespace: default, labels: {kubernetes.io/service-name: service1}}\naddressType: %s\n"
        "ports: [{name: http, port: 8080, protocol: TCP}, {name: dns, port: 53, protocol: UDP}]\n"
        "endpoints: [{addresses: ['%s'], nodeName: %s, conditions: {ready: %s}}]\n",
        family, address, node, ready ? "true" : "false");
    put(&planned->exports.objects, yaml);
}

static const struct agent_service *plan_one(struct planned *planned, const char *id)
{
    agent_services_done(&planned->services);
    assert_int_equal(plan_agent_services(&planned->inputs, &planned->services), 0);
    const struct agent_service key = { .id = id };
    return vec_find(&planned->services.list, &key, agent_service_cmp);
}

static void assert_state(struct planned *planned, bool healthy, const char *why)
{
    const struct agent_service *service = plan_one(planned, ID_HTTP);
    assert_non_null(service);
    assert_string_equal(service->why, why);
    assert_int_equal(service->healthy, healthy);
}

static void registers_each_port_of_an_exported_service(void **state)
{
    (void)state;
    char buffer[IP_STRLEN];
    AUTOPLANNED struct planned planned;
    planned_begin(&planned);
    put(&planned.exports.objects, SERVICE("", V4));
    const struct agent_service *service = plan_one(&planned, ID_HTTP);
    assert_int_equal(planned.services.list.count, 2);
    assert_string_equal(ip_str(&service->address, buffer), "10.1.0.1");
    assert_string_equal(service->owner, "default/service1");
    assert_int_equal(service->port, 32123);
    assert_string_equal(service->checks, "tcp ttl=3600");
    assert_string_equal(plan_one(&planned, ID_UDP)->checks, "ttl=3600");
    put(&planned.exports.objects, SERVICE("", V6));
    assert_string_equal(ip_str(&plan_one(&planned, ID_HTTP)->address, buffer), "fd00::1");
    put(&planned.exports.objects,
        SERVICE("", V4 "externalTrafficPolicy: Local, healthCheckNodePort: 31000, "));
    assert_string_equal(plan_one(&planned, ID_HTTP)->checks, "tcp health=31000 ttl=3600");
}

static void is_healthy_if_it_would_be_served(void **state)
{
    (void)state;
    AUTOPLANNED struct planned planned;
    planned_begin(&planned);
    put(&planned.exports.objects, SERVICE("", V4));
    assert_state(&planned, false, "no endpoint is ready");
    put_backend(&planned, "IPv4", "10.2.0.1", "n2", true);
    assert_state(&planned, true, "it would be served");
    planned.inputs.standing = STANDING_DRAINING;
    assert_state(&planned, false, "this node is out of service");
    planned.inputs.standing = STANDING_SERVING;
    put(&planned.exports.objects, SERVICE("", V4 "externalTrafficPolicy: Local, "));
    assert_state(&planned, false, "no endpoint is ready on this node");
    put_backend(&planned, "IPv4", "10.2.0.1", "n1", true);
    assert_state(&planned, true, "it would be served");
    put_backend(&planned, "IPv4", "10.2.0.1", "n1", false);
    assert_state(&planned, false, "no endpoint is ready");
}

static void asks_what_nat_has_proved(void **state)
{
    (void)state;
    char name[] = "default/service1", why[] = "no program in eth0";
    struct service_proof proof = { .service = name };
    AUTOPLANNED struct planned planned;
    planned_begin(&planned);
    assert_int_equal(ip_parse("10.0.0.1", &proof.address), 0);
    put(&planned.exports.objects, SERVICE("", V4));
    put_backend(&planned, "IPv4", "10.2.0.1", "n2", true);
    planned.inputs.service_proofs = &planned.proofs;
    assert_state(&planned, false, "NAT has not proved it yet");
    proof.why = why;
    assert_int_equal(sorted_put(&planned.proofs, &proof), 0);
    assert_state(&planned, false, why);
    proof = (struct service_proof){ proof.address, name, .as_planned = true, .forwards = true };
    assert_int_equal(sorted_put(&planned.proofs, &proof), 0);
    assert_state(&planned, true, "it would be served");
    const struct service_failed_route failed_route = { name, "10.1.0.1:32123/tcp differs" };
    assert_int_equal(vec_push(&planned.failed_routes, failed_route), 0);
    assert_state(&planned, false, failed_route.why);
    put(&planned.exports.objects, SERVICE("", ""));
    assert_state(&planned, false, "NAT does not serve a Service without a ClusterIP");
}

/* As healthy as the ingress is, by whose port it is reached; without a NodePort there is nothing.
 */
static void follows_an_ingress(void **state)
{
    (void)state;
    AUTOPLANNED struct planned planned;
    planned_begin(&planned);
    put(&planned.exports.objects, INGRESS);
    put(&planned.exports.objects,
        SERVICE(", " KSE "ingress-service-namespace: ingress-namespace, " KSE
                "ingress-service-name: ingress-svc, " KSE "ingress-service-port-name: ingress-port",
                V4));
    put_backend(&planned, "IPv4", "10.2.0.1", "n2", true);
    assert_state(&planned, false, "no endpoint is ready");
    assert_int_equal(plan_one(&planned, ID_HTTP)->port, 33333);
    put(&planned.exports.objects,
        "apiVersion: v1\nkind: Service\nmetadata: {name: service1, namespace: default, annotations: "
        "{" KSE "exported: 'true', fingerpost.io/export-addresses: pods}}\nspec: {clusterIP: "
        "10.0.0.1, ports: [{name: http, port: 80}]}\n");
    assert_null(plan_one(&planned, ID_HTTP));
}

/* ---- What is written ---- */

static const struct agent_services_rule rule = { .cluster = "cluster", .may_remove = true };

/* Each op as "register ID", in lines. */
static void assert_ops(struct planned *planned, const agent_services_there *have,
                       const struct agent_services_rule *by, const char *expected)
{
    static const char *const words[] = { "register", "update", "remove" };
    AUTOTEXT struct text ops = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(agent_services_diff_done) struct agent_services_diff diff = { 0 };
    assert_int_equal(agent_services_compare(&planned->services, have, by, &diff, &faults), 0);
    vec_each(const struct agent_service_op, op, &diff.ops)
        text_addf(&ops, "%s %s\n", words[op->act], op->id);
    assert_string_equal(text_str(&ops), expected);
    assert_int_equal(faults.list.count, diff.foreign);
    vec_each(const struct fault, fault, &faults.list)
        assert_string_equal(code_of(fault), "consul-service-foreign");
}

static struct agent_service_there as_registered(const struct agent_service *service,
                                                char address[static IP_STRLEN])
{
    return (struct agent_service_there){
        .id = service->id,
        .name = service->id,
        .address = ip_str(&service->address, address),
        .cluster = "cluster",
        .owner = service->owner,
        .checks = service->checks,
        .port = service->port,
        .exporter = true,
        .has_state = true,
        .healthy = service->healthy,
        .why = service->why,
    };
}

static void writes_what_differs(void **state)
{
    (void)state;
    static const struct {
        const char *what, *expected;
    } cases[] = {
        { "same", "" },
        { "name", "register " ID_HTTP "\n" },
        { "address", "register " ID_HTTP "\n" },
        { "owner", "register " ID_HTTP "\n" },
        { "checks", "register " ID_HTTP "\n" },
        { "port", "register " ID_HTTP "\n" },
        { "tags", "register " ID_HTTP "\n" },
        { "no state", "register " ID_HTTP "\n" },
        { "health", "update " ID_HTTP "\n" },
        { "why", "update " ID_HTTP "\n" },
        { "exporter's", "register " ID_HTTP "\n" },
        { "somebody's", "" },
        { "another cluster's", "" },
    };
    AUTOPLANNED struct planned planned;
    planned_begin(&planned);
    put(&planned.exports.objects, SERVICE("", V4));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char buffers[2][IP_STRLEN];
        AUTOVEC agent_services_there have = { 0 };
        struct agent_service_there dns = as_registered(plan_one(&planned, ID_UDP), buffers[0]);
        struct agent_service_there http =
            as_registered(&planned.services.list.items[1], buffers[1]);
        const char *what = cases[i].what;
        http.name = strcmp(what, "name") == 0 ? "x" : http.name;
        http.address = strcmp(what, "address") == 0 ? "10.1.0.2" : http.address;
        http.owner = strcmp(what, "owner") == 0 ? "default/x" : http.owner;
        http.checks = strcmp(what, "checks") == 0 ? "tcp" : http.checks;
        http.port += strcmp(what, "port") == 0;
        http.has_state = strcmp(what, "no state") != 0;
        http.healthy ^= strcmp(what, "health") == 0;
        http.why = strcmp(what, "why") == 0 ? "" : http.why;
        http.exporter = strcmp(what, "tags") != 0 && strcmp(what, "somebody's") != 0;
        if (strcmp(what, "exporter's") == 0 || strcmp(what, "somebody's") == 0)
            http.cluster = "";
        else if (strcmp(what, "another cluster's") == 0)
            http.cluster = "cluster2";
        assert_int_equal(vec_push(&have, dns) | vec_push(&have, http), 0);
        assert_ops(&planned, &have, &rule, cases[i].expected);
    }
}

static void removes_only_what_is_ours(void **state)
{
    (void)state;
    const struct agent_services_rule waits = { .cluster = "cluster" };
    const struct agent_services_rule renews = { .cluster = "cluster", .renew = true };
    char address[IP_STRLEN];
    AUTOVEC agent_services_there have = { 0 };
    AUTOPLANNED struct planned planned;
    planned_begin(&planned);
    put(&planned.exports.objects, SERVICE("", V4));
    put(&planned.exports.objects,
        "apiVersion: v1\nkind: Service\nmetadata: {name: bad, namespace: default, annotations: {" KSE
        "exported: 'true', " KSE "custom-attrs: '['}}\nspec: {type: NodePort, clusterIP: 10.0.0.9, "
        "ports: [{port: 1, nodePort: 31111}]}\n");
    (void)plan_one(&planned, ID_HTTP);
    const struct agent_service_there rows[] = {
        { "a", "a", "", "cluster", "default/gone", "" },
        { "b", "b", "", "cluster", "default/bad", "" }, /* refused: it stays */
        { "c", "c", "", "", "", "" },
        { "d", "d", "", "cluster2", "default/gone", "", .exporter = true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(vec_push(&have, rows[i]), 0);
    assert_ops(&planned, &have, &rule, "remove a\nregister " ID_UDP "\nregister " ID_HTTP "\n");
    assert_ops(&planned, &have, &waits, "register " ID_UDP "\nregister " ID_HTTP "\n");
    have.count = 0;
    assert_int_equal(vec_push(&have, as_registered(&planned.services.list.items[0], address)), 0);
    assert_ops(&planned, &have, &renews, "update " ID_UDP "\nregister " ID_HTTP "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_each_port_of_an_exported_service),
        cmocka_unit_test(is_healthy_if_it_would_be_served),
        cmocka_unit_test(asks_what_nat_has_proved),
        cmocka_unit_test(follows_an_ingress),
        cmocka_unit_test(writes_what_differs),
        cmocka_unit_test(removes_only_what_is_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
