// SPDX-License-Identifier: Apache-2.0
/* The state that the tests of the views share; see state.h. */
#include "state.h"

#include <linux/rtnetlink.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "format/reader.h"

int64_t __wrap_clock_mono_ms(void);

int64_t __wrap_clock_mono_ms(void)
{
    return NOW_MS;
}

int64_t __wrap_clock_wall_ms(void);

int64_t __wrap_clock_wall_ms(void)
{
    return WALL_MS;
}

static const char manifests[][1200] = {
    "apiVersion: v1\n"
    "kind: Service\n"
    "metadata: { name: web, namespace: default }\n"
    "spec:\n"
    "  type: LoadBalancer\n"
    "  clusterIP: 10.96.0.1\n"
    "  clusterIPs: [10.96.0.1]\n"
    "  externalIPs: [192.0.2.7]\n"
    "  externalTrafficPolicy: Local\n"
    "  ports:\n"
    "  - { name: http, port: 80, protocol: TCP, nodePort: 30080 }\n"
    "  - { name: dns, port: 53, protocol: UDP }\n"
    "status: { loadBalancer: { ingress: [{ ip: 10.0.0.1 }] } }\n",

    "apiVersion: discovery.k8s.io/v1\n"
    "kind: EndpointSlice\n"
    "metadata: { name: web-4, namespace: default, labels: { kubernetes.io/service-name: web } }\n"
    "addressType: IPv4\n"
    "ports: [{ name: http, port: 8080, protocol: TCP }]\n"
    "endpoints:\n"
    "- { addresses: [10.224.0.3], nodeName: node-1, conditions: { ready: true } }\n"
    "- addresses: [10.224.1.3]\n"
    "  conditions: { ready: false, serving: true, terminating: true }\n",

    "apiVersion: discovery.k8s.io/v1\n"
    "kind: EndpointSlice\n"
    "metadata: { name: web-6, namespace: default, labels: { kubernetes.io/service-name: web } }\n"
    "addressType: IPv6\n"
    "ports: [{ name: http, port: 8080 }, { name: dns, port: 5353 }]\n"
    "endpoints: [{ addresses: [\"fd00:1::3\"], nodeName: node-2 }]\n",
};

void made_object(struct store *store, const char *yaml)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    struct object *object = NULL;

    assert_int_equal(
        document_parse(yaml, strlen(yaml), "web.yaml", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    assert_true(faults_none(&faults));
    assert_int_equal(store_put(store, "web.yaml", object), 1);
}

static struct address_row *add_row(struct made_state *state, const char *address,
                                   enum address_reason reason, const struct claim *claims,
                                   uint32_t count)
{
    struct address_row *row = calloc(1, sizeof(*row) + count * sizeof(*claims));

    assert_non_null(row);
    assert_int_equal(ip_parse(address, &row->address), 0);
    row->reason = reason;
    row->of = "";
    row->claim_count = count;
    memcpy(row->claims, claims, count * sizeof(*claims));
    assert_int_equal(sorted_put(&state->plan.addresses, &row), 0);
    return row;
}

static void add_rows(struct made_state *state)
{
    const struct claim announced = { "default", "web", ADDRESS_LOAD_BALANCER, REASON_ANNOUNCED, "",
                                     2,         1 };
    const struct claim internal = { "default", "web", ADDRESS_CLUSTER, REASON_NOT_ADVERTISED, "",
                                    2,         1 };
    const struct claim shared[] = {
        { "default", "gone", ADDRESS_EXTERNAL, REASON_HELD_DOWN, "", 1, 1 },
        { "default", "web", ADDRESS_EXTERNAL, REASON_PORTS_TAKEN, "", 0, 0 },
    };
    struct address_row *row = add_row(state, "10.0.0.1", REASON_ANNOUNCED, &announced, 1);
    row->protocol = ROUTE_PROTOCOL_SERVICE;
    row->guarded = true;
    (void)add_row(state, "10.96.0.1", REASON_NOT_ADVERTISED, &internal, 1);
    row = add_row(state, "fd00::2", REASON_HELD_DOWN, shared, ARRAY_SIZE(shared));
    row->guarded = true;
    row->held_until_ms = NOW_MS + 1500;
}

static void add_block(struct made_state *state, const char *prefix)
{
    struct block_row row = { .block = "default-0", .pool = "default", .reserved = true };

    assert_int_equal(prefix_parse(prefix, &row.prefix), 0);
    assert_int_equal(sorted_put(&state->plan.blocks, &row), 0);
}

void made_fault(struct made_state *state, const char *subsystem, const char *group,
                const char *place, const char *message, const char *remedy)
{
    AUTOFAULTS struct faults faults = { 0 };

    faults_add(&faults, place, remedy, "%s", message);
    assert_int_equal(fault_book_replace(state->status.faults, subsystem, group, &faults, WALL_MS),
                     1);
}

void made_route(struct made_state *state, uint32_t table, const char *prefix, uint8_t type,
                uint8_t protocol, uint32_t metric)
{
    struct route route = { .table = table, .type = type, .protocol = protocol, .metric = metric };

    assert_int_equal(prefix_parse(prefix, &route.prefix), 0);
    assert_int_equal(sorted_put(&state->installed, &route), 0);
}

static struct status made_status(struct made_state *state)
{
    return (struct status){
        .node = "node-1",
        .version = "0.1.0",
        .phase = PHASE_RUNNING,
        .started_wall_ms = WALL_MS - NOW_MS,
        .config_path = "/etc/fingerpost/agentd.yaml",
        .config_loaded_wall_ms = WALL_MS - NOW_MS,
        .source = { .name = "manifests",
                    .path = "/etc/fingerpost/manifests",
                    .synced = true,
                    .observed_generation = 8,
                    .applied_generation = 7,
                    .files = 3,
                    .broken_files = 1,
                    .ignored_files = 2,
                    .ignored_objects = 5,
                    .last_event_wall_ms = WALL_MS },
        .routes = { .complete = true,
                    .wanted = 6,
                    .installed = 6,
                    .foreign = 1,
                    .announced = 1,
                    .withheld = 2,
                    .held = 1,
                    .blocks = 1,
                    .added = 9,
                    .replaced = 2,
                    .deleted = 3,
                    .repairs = 1,
                    .passes = 20,
                    .full_passes = 4,
                    .last_full_pass_wall_ms = WALL_MS,
                    .last_full_pass_us = 1250 },
        .bird = { .learned = { -1, -1 } },
        .faults = state->status.faults,
    };
}

struct made_state *made_state_new(void)
{
    struct made_state *state = calloc(1, sizeof(*state));

    assert_non_null(state);
    state->status.faults = fault_book_new();
    state->status = made_status(state);
    state->store = store_new();
    assert_true(state->status.faults && state->store);
    assert_int_equal(config_default("/etc/fingerpost/manifests", &state->config), 0);
    free(state->config->node);
    state->config->node = strdup("node-1");
    for (size_t i = 0; i < ARRAY_SIZE(manifests); i++)
        made_object(state->store, manifests[i]);
    route_plan_init(&state->plan);
    add_rows(state);
    add_block(state, "10.224.0.0/27");
    state->installed = (struct sorted)SORTED(struct route, route_cmp);
    state->rules = (struct sorted)SORTED(struct rule, rule_cmp);
    made_route(state, 119, "10.0.0.1/32", RTN_BLACKHOLE, ROUTE_PROTOCOL_SERVICE, 0);
    made_route(state, 119, "10.96.0.1/32", RTN_BLACKHOLE, ROUTE_PROTOCOL_SERVICE, 0);
    made_route(state, 119, "192.0.2.0/24", RTN_BLACKHOLE, RTPROT_STATIC, 0);
    made_route(state, 120, "10.0.0.1/32", RTN_UNREACHABLE, ROUTE_PROTOCOL_GUARD, 0);
    state->api = (struct api_state){
        .status = &state->status,
        .config = state->config,
        .store = state->store,
        .plan = &state->plan,
        .installed = &state->installed,
        .rules = &state->rules,
    };
    return state;
}

void made_state_free(struct made_state *state)
{
    sorted_done(&state->rules);
    sorted_done(&state->installed);
    route_plan_done(&state->plan);
    store_free(state->store);
    config_free(state->config);
    fault_book_free(state->status.faults);
    nat_status_done(&state->status.nat);
    bird_status_clear(&state->status.bird);
    free(state);
}

void assert_document(const struct text *out, const char *expected)
{
    AUTOFREE char *quoted = strdup(expected);

    assert_non_null(quoted);
    assert_int_equal(text_error(out), 0);
    for (char *c = quoted; *c; c++)
        if (*c == '\'')
            *c = '"';
    assert_string_equal(text_str(out), quoted);
}

void assert_document_part(const struct text *out, const char *begin, const char *end,
                          const char *expected)
{
    AUTOTEXT struct text part = { 0 };
    const char *from = strstr(text_str(out), begin);

    assert_non_null(from);
    const char *to = end ? strstr(from, end) : from + strlen(from);
    assert_non_null(to);
    text_add_bytes(&part, from, (size_t)(to - from));
    assert_document(&part, expected);
}
