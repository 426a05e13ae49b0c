// SPDX-License-Identifier: Apache-2.0
/*
 * The route engine on a real kernel, in a network namespace of its own, led by the pass as in the
 * daemon: after every random edit of the objects, the tables that incremental passes have left
 * equal a plan made from nothing, and a pass over everything finds nothing to do. Foreign routes
 * and drift included, and what is told of them.
 *
 * This file is long because all its tests share one fixture: a kernel and what leads to it.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "cmocka_all.h"
#include "engine/pass.h"
#include "engine/routes/route_engine.h"
#include "engine/routes/route_holds.h"
#include "engine/routes/route_state.h"
#include "format/reader.h"
#include "model/object.h"
#include "plan/node_plan.h"
#include "plan/routes/shared_ports.h"
#include "status/fault_book.h"

enum { SERVICES = 6, ADDRESSES = 5, BLOCKS = 4, ROUNDS = 600, OTHER_TABLE = 116 };

struct fixture {
    struct config *config;
    struct store *store;
    struct kernel *kernel;
    struct status status;
    struct board board;
    struct engines *engines;
    struct route_engine *routes; /* of these engines the only one */
    int64_t now_ms;
    bool other_rule; /* somebody's */
};

static void put(struct fixture *fixture, const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(
        document_parse(yaml, strlen(yaml), "test.yaml", READER_YAML, &document, &faults), 1);
    int r = object_decode(document, &object, NULL, &faults, &faults);
    if (r != 1)
        fail_msg("%s\n%s", faults.list.count ? faults.list.items[0].message : "?", yaml);
    assert_true(store_put(fixture->store, "test.yaml", object) >= 0);
}

static void put_service(struct fixture *fixture, int id)
{
    AUTOTEXT struct text yaml = { 0 };
    static const char *const policies[] = { "Local", "Cluster" };
    text_addf(&yaml,
              "apiVersion: v1\nkind: Service\n"
              "metadata:\n  name: s%d\n  namespace: d\n"
              "  creationTimestamp: \"2026-11-20T07:00:%02dZ\"\n",
              id, rand() % 60);
    if (rand() % 4 == 0)
        text_addf(&yaml, "  annotations:\n    fingerpost.io/route-class: \"%d\"\n", rand() % 30);
    text_addf(&yaml,
              "spec:\n  type: LoadBalancer\n  clusterIPs: [10.96.0.%d]\n"
              "  externalTrafficPolicy: %s\n"
              "  ports:\n  - {name: a, port: %d, protocol: TCP}\n",
              id + 1, policies[rand() % 2], 80 + rand() % 3);
    text_add(&yaml, "status:\n  loadBalancer:\n    ingress:\n");
    for (int i = 0; i <= rand() % 3; i++) {
        int address = rand() % ADDRESSES;
        if (rand() % 2)
            text_addf(&yaml, "    - ip: 198.51.100.%d\n", address);
        else
            text_addf(&yaml, "    - ip: 2001:db8:100::%d\n", address + 1);
    }
    put(fixture, text_str(&yaml));
}

static void put_slice(struct fixture *fixture, int id)
{
    AUTOTEXT struct text yaml = { 0 };
    bool v6 = rand() % 2;
    text_addf(&yaml,
              "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: %s\n"
              "metadata:\n  name: s%d-%s\n  namespace: d\n"
              "  labels:\n    kubernetes.io/service-name: s%d\n"
              "ports:\n- {name: a, port: 8080, protocol: TCP}\nendpoints:\n",
              v6 ? "IPv6" : "IPv4", id, v6 ? "six" : "four", id);
    for (int i = 0; i <= rand() % 3; i++) {
        bool ready = rand() % 3 == 0, terminating = rand() % 3 == 0;
        text_addf(&yaml,
                  "- addresses: [\"%s%d\"]\n  nodeName: n%d\n"
                  "  conditions: {ready: %s, serving: %s, terminating: %s}\n",
                  v6 ? "fd00::" : "10.244.0.", i + 1, rand() % 2 + 1, ready ? "true" : "false",
                  ready || rand() % 2 ? "true" : "false", terminating ? "true" : "false");
    }
    put(fixture, text_str(&yaml));
}

static void put_block(struct fixture *fixture, int id)
{
    AUTOTEXT struct text yaml = { 0 };
    text_addf(&yaml,
              "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nindex: %d\nipv4: %s\n"
              "metadata:\n  name: b-%d\n  labels:\n    coil.cybozu.com/node: n%d\n"
              "    coil.cybozu.com/pool: b\n",
              id, rand() % 4 ? "10.224.0.0/27" : "198.51.100.1/32", id, rand() % 2 + 1);
    put(fixture, text_str(&yaml));
}

static void put_node(struct fixture *fixture)
{
    AUTOTEXT struct text yaml = { 0 };
    text_addf(&yaml,
              "apiVersion: v1\nkind: Node\nmetadata:\n  name: n%d\n  labels: {%s: \"\"}\n"
              "status:\n  addresses: [{type: InternalIP, address: 198.51.100.%d}]\n",
              rand() % 2 + 1,
              rand() % 3 ? "a" : "node.kubernetes.io/exclude-from-external-load-balancers",
              rand() % ADDRESSES);
    put(fixture, text_str(&yaml));
}

static void take(struct fixture *fixture, enum kind kind, const char *namespace, const char *format,
                 int id)
{
    char name[32];
    snprintf(name, sizeof(name), format, id);
    assert_true(store_remove(fixture->store, "test.yaml", kind, namespace, name) >= 0);
}

static void random_edit(struct fixture *fixture)
{
    int id = rand() % SERVICES;
    switch (rand() % 12) {
    case 0 ... 3:
        put_slice(fixture, id);
        break;
    case 4 ... 6:
        put_service(fixture, id);
        break;
    case 7:
        take(fixture, KIND_SERVICE, "d", "s%d", id);
        break;
    case 8:
        take(fixture, KIND_ENDPOINT_SLICE, "d", rand() % 2 ? "s%d-four" : "s%d-six", id);
        break;
    case 9:
        put_block(fixture, rand() % BLOCKS);
        break;
    case 10:
        take(fixture, KIND_ADDRESS_BLOCK, "", "b-%d", rand() % BLOCKS);
        break;
    case 11:
        put_node(fixture);
        break;
    }
}

/* One pass, as the schedule has it; returns the number of operations that the kernel was asked for.
 */
static uint32_t pass(struct fixture *fixture, struct round round)
{
    uint32_t writer;
    round.now_ms = fixture->now_ms;
    assert_int_equal(pass_run(fixture->engines, fixture->store, fixture->kernel, &round, &writer),
                     0);
    round_done(&round);
    return round.changes;
}

/* The counts, kept by adding and subtracting, against a walk over the rows. */
static void counts_equal(const struct route_status *status, const struct route_plan *plan)
{
    uint32_t announced = 0, held = 0, guarded = 0;
    sorted_each(struct address_row *, row, &plan->addresses) {
        announced += (*row)->reason == REASON_ANNOUNCED;
        held += (*row)->reason == REASON_HELD_DOWN;
        guarded += (*row)->guarded || (*row)->svc0_route.ifindex;
    }
    assert_int_equal(status->announced, announced);
    assert_int_equal(status->withheld, plan->addresses.count - announced);
    assert_int_equal(status->held, held);
    assert_int_equal(status->blocks, plan->blocks.count);
    assert_int_equal(status->wanted,
                     announced + guarded + 2 * plan->blocks.count + plan->nets.count);
}

static void kernel_equals_a_fresh_plan(struct fixture *fixture)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct node_facts facts = route_facts_now(fixture->routes);
    const struct route_inputs inputs = {
        .node = &facts,
        .holds = &fixture->routes->holds,
        .now_ms = fixture->now_ms,
    };
    assert_int_equal(facts.other_rules, fixture->other_rule);
    struct node_plan all;
    const struct route_plan *plan = &all.routes;
    route_list want = {};
    assert_int_equal(plan_node(&inputs, &all, &faults), 0);
    assert_int_equal(plan_route_list(fixture->config, plan, &want), 0);

    assert_int_equal(kernel_resync(fixture->kernel), 0);
    const struct sorted *have = kernel_routes(fixture->kernel);
    struct route_diff diff;
    assert_int_equal(diff_routes(want.items, want.count, (const struct route *)have->items,
                                 have->count, 119, true, &diff),
                     0);
    vec_each(const struct route_op, op, &diff.ops) {
        char text[ROUTE_STRLEN];
        print_error("op %d: table %u %s\n", op->kind, op->route.table, route_str(&op->route, text));
    }
    assert_int_equal(diff.ops.count, 0);
    assert_int_equal(diff.blocked.count, 0);
    counts_equal(&fixture->status.routes, plan);
    assert_int_equal(plan->svc0_by_rule, fixture->routes->plan.svc0_by_rule);

    rule_list rules = {};
    rule_op_list rule_ops = {};
    const struct sorted *have_rules = kernel_rules(fixture->kernel);
    assert_int_equal(plan_rule_list(plan, &rules), 0);
    assert_int_equal(diff_rules(rules.items, rules.count, (const struct rule *)have_rules->items,
                                have_rules->count, true, &rule_ops),
                     0);
    assert_int_equal(rule_ops.count, 0);
    vec_done(&rules);
    vec_done(&rule_ops);
    route_diff_done(&diff);
    vec_done(&want);
    node_plan_done(&all);
}

/* NAT goes on, off, or sends from another address: each time all is planned again. */
static bool change_way(struct fixture *fixture)
{
    static const struct nat_svc0 paths[] = {
        { 0 },
        { 7, { IP_V4, { 10, 7, 0, 1 } }, { IP_V6, { 0xfd, 7, [15] = 1 } } },
        { 7, { IP_V4, { 10, 7, 0, 2 } }, { .family = IP_NONE } },
    };
    if (rand() % 16 != 0)
        return false;
    fixture->board.leads = paths[rand() % 3];
    return true;
}

/* Somebody's rule comes or goes: what is led to svc0 changes its table. */
static void change_rules(struct fixture *fixture)
{
    if (rand() % 16 != 0)
        return;
    fixture->other_rule = !fixture->other_rule;
    assert_int_equal(system(fixture->other_rule ? "ip rule add pref 5 from 10.0.0.5 lookup 99"
                                                : "ip rule del pref 5"),
                     0);
    assert_int_equal(kernel_read(fixture->kernel), 0);
}

/* What is about to be left to other nodes is left, at the time that the engine asks for. */
static void leave_addresses(struct fixture *fixture)
{
    if (fixture->routes->leaving.count == 0)
        return;
    const int64_t due_ms = fixture->now_ms + SHARED_PORTS_GRACE_MS;
    assert_true(route_holds_next(fixture->routes, fixture->now_ms) <= due_ms);
    fixture->now_ms = due_ms;
    (void)pass(fixture, (struct round){ .may_remove = true });
    assert_int_equal(fixture->routes->leaving.count, 0);
}

static void random_edits_equal_a_fresh_start(void **state)
{
    struct fixture *fixture = *state;
    prefix_list *nets = &fixture->config->services.service_cidrs;
    assert_int_equal(vec_push(nets, (struct prefix){ { IP_V4, { 10, 96 } }, 30 }), 0);
    assert_int_equal(vec_push(nets, (struct prefix){ { IP_V4, { 10, 7 } }, 16 }), 0); /* a fault */
    srand(11);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i <= rand() % 4; i++)
            random_edit(fixture);
        fixture->now_ms += rand() % 3000;
        change_rules(fixture);
        (void)pass(fixture,
                   (struct round){ .may_remove = true, .svc0_moved = change_way(fixture) });
        leave_addresses(fixture);
        kernel_equals_a_fresh_plan(fixture);
    }
    assert_true(fixture->status.routes.added > 100);
    assert_true(fixture->status.routes.replaced > 10);
    assert_true(fixture->status.routes.deleted > 100);
    assert_int_equal(failed_routes_count(&fixture->routes->failed_routes, true), 0);
}

static void nothing_goes_before_the_source_has_synced(void **state)
{
    struct fixture *fixture = *state;
    srand(3);
    put_block(fixture, 0);
    put(fixture, "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nindex: 9\n"
                 "ipv4: 10.225.0.0/27\nmetadata:\n  name: x-9\n"
                 "  labels: {coil.cybozu.com/node: n1, coil.cybozu.com/pool: x}\n");
    (void)pass(fixture, (struct round){ .all = true, .may_remove = true });
    size_t before = kernel_routes(fixture->kernel)->count;

    take(fixture, KIND_ADDRESS_BLOCK, "", "x-%d", 9);
    assert_int_equal(pass(fixture, (struct round){ .all = true }), 0);
    assert_int_equal(kernel_routes(fixture->kernel)->count, before);

    assert_true(pass(fixture, (struct round){ .all = true, .may_remove = true }) > 0);
    kernel_equals_a_fresh_plan(fixture);
}

/* A round loses the addresses that an engine ahead of this one is about to stop serving. */
static int lose(struct engine *engine, struct round *round)
{
    (void)engine;
    return vec_push(&round->losses, (struct ip){ IP_V4, { 198, 51, 100, 1 } });
}

static const struct sorted nothing_proved = SORTED(struct proof, proof_cmp);

static void put_announced(struct fixture *fixture)
{
    put(fixture, "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: d}\n"
                 "spec:\n  type: LoadBalancer\n  clusterIPs: [10.96.0.1]\n"
                 "  ports: [{name: a, port: 80, protocol: TCP}]\n"
                 "status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}\n");
    put(fixture, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n"
                 "metadata: {name: s-1, namespace: d, labels: {kubernetes.io/service-name: s}}\n"
                 "ports: [{name: a, port: 80, protocol: TCP}]\n"
                 "endpoints: [{addresses: [10.244.0.1]}]\n");
}

static void what_loses_service_goes_before_anything_is_written(void **state)
{
    struct fixture *fixture = *state;
    const struct engine_ops losing = { .name = "losing", .plan = lose };
    struct engine loser = { &losing };
    put_announced(fixture);
    (void)pass(fixture, (struct round){ .all = true, .may_remove = true });
    assert_int_equal(fixture->status.routes.announced, 1);

    /* Nothing is dirty, and yet the address is judged again, by what is proved now. */
    fixture->config->services.enabled = true;
    fixture->board.proofs = &nothing_proved;
    assert_int_equal(vec_push(&fixture->engines->list, &loser), 0);
    (void)pass(fixture, (struct round){ .may_remove = true });
    fixture->engines->list.count--;
    assert_int_equal(fixture->status.routes.announced, 0);
    assert_int_equal(fixture->status.routes.deleted, 1);
}

/* Another program's command, and a pass over everything; "CODE at PLACE" lines of what is told. */
static void assert_told_after(struct fixture *fixture, const char *command, const char *expected)
{
    AUTOTEXT struct text got = { 0 };
    assert_int_equal(system(command), 0);
    assert_int_equal(kernel_read(fixture->kernel), 0);
    (void)pass(fixture, (struct round){ .all = true, .may_remove = true });
    for (size_t i = 0; i < fault_book_count(fixture->status.faults); i++) {
        const struct known_fault *fault = fault_book_at(fixture->status.faults, i);
        text_addf(&got, "%s at %s\n", known_fault_code(fault), fault->place);
    }
    assert_string_equal(text_str(&got), expected);
}

static void what_others_write_is_told(void **state)
{
    struct fixture *fixture = *state;
    put_announced(fixture);
    assert_told_after(fixture, "ip route add blackhole 10.1.0.0/24 table 119 proto bird",
                      "routes-of-bird at table 119\n");
    assert_told_after(fixture, "ip route del blackhole 10.1.0.0/24 table 119", "");
    assert_told_after(fixture, "ip route add blackhole 198.51.100.0/24 proto bird",
                      "routes-blackholed-by-bird at table main\n");
    assert_told_after(fixture, "ip route replace blackhole 198.51.100.0/24 proto static",
                      "routes-blackholed at table main\n");
    assert_told_after(fixture, "ip route del blackhole 198.51.100.0/24", "");
    assert_told_after(fixture,
                      "ip rule add from 10.5.0.0/16 lookup 119 && "
                      "ip rule add from 10.6.0.0/16 lookup 119",
                      "rule-on-export-table at ip rule\nrule-on-export-table at ip rule\n");
}

static void what_leads_away_from_svc0_is_told(void **state)
{
    struct fixture *fixture = *state;
    fixture->board.leads = (struct nat_svc0){ 7, { IP_V4, { 10, 7, 0, 1 } }, { 0 } };
    put_announced(fixture);
    assert_told_after(fixture, "ip rule add pref 5 lookup 99", "");
    assert_told_after(fixture, "ip route add 198.51.100.1 dev svc0p table 99",
                      "address-led-away at Service d/s\n");
    assert_told_after(fixture, "ip route replace unreachable 198.51.100.1 table 99",
                      "address-way-refused at Service d/s\n");
    assert_told_after(fixture, "ip rule del pref 5", "");
}

/* Only the effective ones: what is permitted can be taken again. */
static void set_net_admin(bool may)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];
    assert_int_equal(syscall(SYS_capget, &header, data), 0);
    data[0].effective = may ? data[0].permitted : data[0].permitted & ~(1u << CAP_NET_ADMIN);
    assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

static void what_the_kernel_refuses_is_told(void **state)
{
    struct fixture *fixture = *state;
    fixture->board.leads = (struct nat_svc0){ 7, { IP_V4, { 10, 7, 0, 1 } }, { 0 } };
    put_announced(fixture);
    assert_int_equal(system("ip rule add pref 5 lookup 99"), 0);
    assert_int_equal(kernel_read(fixture->kernel), 0);
    set_net_admin(false);
    assert_told_after(fixture, "true",
                      "route-refused at 10.96.0.1/32 table 120\n"
                      "route-refused at 198.51.100.1/32 table 119\n"
                      "route-refused at 198.51.100.1/32 table 120\n"
                      "rule-refused at ip rule\n");
    set_net_admin(true);
    assert_told_after(fixture, "true", "");
}

static void what_a_broken_manifest_may_name_is_kept(void **state)
{
    struct fixture *fixture = *state;
    fixture->status.source.unknown_files = 1;
    assert_told_after(fixture, "ip route add blackhole 10.99.0.0/27 table 119 proto 30",
                      "routes-inherited at start\n");
    fixture->status.source.unknown_files = 0;
    assert_told_after(fixture, "true", "");
    assert_int_equal(kernel_routes(fixture->kernel)->count, 0);
}

/* Somebody writes there, and no pass over the routes takes it for its business. */
static void tables_of_other_engines_are_left_to_them(void **state)
{
    struct fixture *fixture = *state;
    struct kernel_scope scope = scope_of_node(119);
    assert_int_equal(scope_add_routes(&scope, OTHER_TABLE, 0), 0);
    kernel_close(fixture->kernel);
    assert_int_equal(kernel_open(&scope, NL_HERE, &fixture->kernel), 0);
    fixture->routes->kernel = fixture->kernel;
    assert_int_equal(system("ip route add blackhole 10.1.0.0/24 table 116 proto 31"), 0);

    uint32_t writer;
    struct round round = { .now_ms = fixture->now_ms, .may_remove = true };
    assert_int_equal(pass_run(fixture->engines, fixture->store, fixture->kernel, &round, &writer),
                     0);
    assert_int_equal(kernel_routes(fixture->kernel)->count, 1);
    assert_false(round.expected);
    round_done(&round);
    (void)pass(fixture, (struct round){ .all = true, .may_remove = true });
    assert_int_equal(kernel_routes(fixture->kernel)->count, 1);
    engines_count(fixture->engines);
    assert_int_equal(fixture->status.routes.installed, 0);
    assert_int_equal(fixture->status.routes.foreign, 0);
}

static int set_up(void **state)
{
    if (unshare(CLONE_NEWNET) < 0 ||
        system("ip link set lo up && ip link add svc0 index 7 type veth peer name svc0p && "
               "ip link set svc0p up && ip link set svc0 up && ip addr add 10.7.0.1/24 dev svc0 "
               "&& ip addr add 10.7.0.2/24 dev svc0 && ip -6 addr add fd07::1/64 dev svc0 nodad"))
        return -1;
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    if (!fixture || config_default("/nowhere", &fixture->config) < 0)
        return -1;
    free(fixture->config->node);
    fixture->config->node = strdup("n1");
    fixture->store = store_new();
    fixture->status.faults = fault_book_new();
    fixture->now_ms = 1000000;
    const struct kernel_scope scope = scope_of_node(119);
    if (!fixture->store || !fixture->status.faults ||
        kernel_open(&scope, NL_HERE, &fixture->kernel) < 0)
        return -1;
    static const struct engine_ops *const table[] = { &route_engine_ops, NULL };
    const struct engine_setup setup = {
        .config = fixture->config,
        .store = fixture->store,
        .kernel = fixture->kernel,
        .status = &fixture->status,
        .board = &fixture->board,
    };
    if (engines_open(&setup, table, &fixture->engines) < 0)
        return -1;
    fixture->routes = (struct route_engine *)engines_find(fixture->engines, &route_engine_ops);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    engines_close(fixture->engines);
    kernel_close(fixture->kernel);
    store_free(fixture->store);
    fault_book_free(fixture->status.faults);
    config_free(fixture->config);
    free(fixture);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_edits_equal_a_fresh_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_goes_before_the_source_has_synced, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_others_write_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_leads_away_from_svc0_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_kernel_refuses_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_broken_manifest_may_name_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_of_other_engines_are_left_to_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_loses_service_goes_before_anything_is_written, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
