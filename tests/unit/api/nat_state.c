// SPDX-License-Identifier: Apache-2.0
/* NAT for the tests of the views; see nat_state.h. */
#include "nat_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/nat/nat_update.h"

static const char node[] = "apiVersion: v1\n"
                           "kind: Node\n"
                           "metadata: { name: node-1 }\n"
                           "status: { addresses: [{ type: InternalIP, address: 10.1.0.7 }] }\n";

/* Its ready endpoint is on another node; and a Service that another proxy serves. */
static const char idle[] = "apiVersion: v1\n"
                           "kind: Service\n"
                           "metadata: { name: idle, namespace: default }\n"
                           "spec:\n"
                           "  clusterIP: 10.96.0.2\n"
                           "  clusterIPs: [10.96.0.2]\n"
                           "  internalTrafficPolicy: Local\n"
                           "  sessionAffinity: ClientIP\n"
                           "  ports: [{ port: 80, protocol: TCP }]\n";

static const char idle_slice[] =
    "apiVersion: discovery.k8s.io/v1\n"
    "kind: EndpointSlice\n"
    "metadata: { name: idle-1, namespace: default, labels: { kubernetes.io/service-name: idle } }\n"
    "addressType: IPv4\n"
    "ports: [{ port: 8080, protocol: TCP }]\n"
    "endpoints:\n"
    "- { addresses: [10.224.1.9], nodeName: node-2, conditions: { ready: true } }\n"
    "- { addresses: [10.224.0.9], nodeName: node-1, conditions: { ready: false, serving: false } }\n";

static const char other[] = "apiVersion: v1\n"
                            "kind: Service\n"
                            "metadata:\n"
                            "  name: other\n"
                            "  namespace: default\n"
                            "  labels: { service.kubernetes.io/service-proxy-name: theirs }\n"
                            "spec:\n"
                            "  clusterIP: 10.96.0.3\n"
                            "  clusterIPs: [10.96.0.3]\n"
                            "  ports: [{ port: 80, protocol: TCP }]\n";

static bool counters(void *context, const char *namespace, const char *name,
                     struct nat_counter *ret_counter)
{
    (void)context;
    assert_string_equal(namespace, "default");
    if (strcmp(name, "web") != 0)
        return false;
    *ret_counter =
        (struct nat_counter){ .packets = 48211, .bytes = 36700160, .flows = 1204, .refused = 12 };
    return true;
}

static int refusals(void *context, nat_refusal_list *ret_list)
{
    struct made_nat *nat = context;

    vec_each(const struct nat_refusal, refusal, &nat->refusals)
        assert_int_equal(vec_push(ret_list, *refusal), 0);
    return nat->error ? nat->error : nat_tally_add(&nat->state->status.nat.refused, ret_list);
}

static const char *service_name(void *context, uint32_t service, char buffer[static NAT_NAME_MAX])
{
    static const char *const names[] = { "", "default/web", "default/idle", "default/gone" };
    struct made_nat *nat = context;

    nat->names_asked++;
    assert_true(service > 0 && service < ARRAY_SIZE(names));
    return strcpy(buffer, names[service]);
}

static int each_flow(void *context, size_t limit,
                     int (*each)(const struct nat_flow_view *flow, void *each_context),
                     void *each_context)
{
    struct made_nat *nat = context;
    size_t count = 0;

    assert_true(limit >= nat->flows.count);
    vec_each(const struct nat_flow_view, flow, &nat->flows) {
        if (count++ < limit && each(flow, each_context) != 0)
            break;
    }
    return nat->error;
}

static size_t maps(void *context, struct nat_map_use use[static NAT_MAP_COUNT])
{
    struct made_nat *nat = context;
    memcpy(use, nat->maps, sizeof(nat->maps));
    return ARRAY_SIZE(nat->maps);
}

static int verify(void *context, nat_difference_list *ret_list)
{
    struct made_nat *nat = context;

    for (size_t i = 0; i < ARRAY_SIZE(nat->differences) && nat->differences[i][0]; i++)
        assert_int_equal(
            vec_push(ret_list, (struct nat_difference){ strdup(nat->differences[i][0]),
                                                        strdup(nat->differences[i][1]) }),
            0);
    return nat->error;
}

static bool proof(void *context, const struct ip *address, struct nat_proof *ret_proof)
{
    struct made_nat *nat = context;
    if (!ip_equal(address, &nat->proof.address))
        return false;
    *ret_proof = nat->proof;
    return true;
}

static void add_link(struct made_nat *nat, uint32_t ifindex, const char *name)
{
    struct link link = { .ifindex = ifindex };
    (void)snprintf(link.name, sizeof(link.name), "%s", name);
    assert_int_equal(sorted_put(&nat->links, &link), 0);
}

static void plan(struct made_nat *nat)
{
    struct made_state *state = nat->state;
    AUTOFAULTS struct faults faults = { 0 };
    const struct node_facts facts = {
        .store = state->store,
        .config = state->config,
    };
    struct prefix services;

    assert_int_equal(prefix_parse("10.96.0.0/12", &services), 0);
    assert_int_equal(vec_push(&state->config->services.service_cidrs, services), 0);
    made_object(state->store, node);
    made_object(state->store, idle);
    made_object(state->store, idle_slice);
    made_object(state->store, other);
    assert_int_equal(plan_nat(&facts, &nat->rows, &faults), 0);
    assert_int_equal(nat->rows.count, 3);
}

struct made_nat *made_nat_new(struct made_state *state)
{
    struct made_nat *nat = calloc(1, sizeof(*nat));

    assert_non_null(nat);
    *nat = (struct made_nat){
        .state = state,
        .links = SORTED(struct link, link_cmp),
        .live = { nat, counters, refusals, service_name, each_flow, maps, verify, proof },
        .maps = { { "frontends", 5, 262144, 4194304 }, { "flows", 65536, 524288, 12582912 } },
        .proof = { .as_planned = true, .served = true },
    };
    assert_int_equal(ip_parse("10.0.0.1", &nat->proof.address), 0);
    plan(nat);
    state->status.nat.enabled = state->status.nat.complete = true;
    state->api.nat = &nat->rows;
    state->api.live = &nat->live;
    state->api.links = &nat->links;
    add_link(nat, 2, "eth0");
    return nat;
}

void made_nat_free(struct made_nat *nat)
{
    nat->state->api.nat = NULL;
    nat->state->api.live = NULL;
    nat->state->api.links = NULL;
    sorted_done(&nat->links);
    nat_rows_done(&nat->rows);
    vec_done(&nat->refusals);
    vec_done(&nat->flows);
    free(nat);
}

void made_refusal(struct made_nat *nat, uint32_t service, enum nat_cause cause, uint64_t count,
                  int64_t ago_ms, const char *destination)
{
    struct nat_refusal refusal = {
        .service = service,
        .cause = cause,
        .count = count,
        .last = { .mono_ms = NOW_MS - ago_ms,
                  .source_port = 43122,
                  .destination_port = 80,
                  .protocol = PROTOCOL_TCP,
                  .ifindex = 2 },
    };
    assert_int_equal(ip_parse("10.0.2.5", &refusal.last.source), 0);
    assert_int_equal(ip_parse(destination, &refusal.last.destination), 0);
    assert_int_equal(vec_push(&nat->refusals, refusal), 0);
}

struct nat_flow_view *made_flow(struct made_nat *nat, uint32_t service, const char *endpoint)
{
    struct nat_flow_view flow = {
        .client_port = 43122,
        .address_port = 80,
        .endpoint_port = 8080,
        .source_port = 43122,
        .protocol = PROTOCOL_TCP,
        .service = service,
        .state = NAT_STATE_ESTABLISHED,
        .idle_s = 4,
        .packets = { 12, 10 },
        .bytes = { 900, 14500 },
    };
    assert_int_equal(ip_parse("10.0.2.5", &flow.client), 0);
    assert_int_equal(ip_parse("10.96.0.1", &flow.address), 0);
    assert_int_equal(ip_parse(endpoint, &flow.endpoint), 0);
    flow.source = flow.client;
    assert_int_equal(vec_push(&nat->flows, flow), 0);
    return &nat->flows.items[nat->flows.count - 1];
}
