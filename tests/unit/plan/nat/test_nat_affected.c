// SPDX-License-Identifier: Apache-2.0
/*
 * Which Services a change touches: few, and none too few. The latter by random edits of a small
 * world in which everything meets: rows kept up to date equal rows made from nothing.
 */
#include "nat_planning.h"

#define PORT "ports: [{name: h, port: 80, nodePort: 30080}]"

static int name_cmp(const void *a, const void *b)
{
    const struct nat_key *left = a, *right = b;
    return strcmp(left->name, right->name);
}

/* The names touched by what changed since last asked: "a b", "all", or "settings". */
static void assert_touched(struct planning *planning, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    change_list changes;
    nat_key_list keys = { 0 };
    bool all = false, settings = false;
    assert_int_equal(store_changes(planning->store, &changes), 0);
    vec_each(const struct change, change, &changes)
        assert_int_equal(plan_nat_affected(&planning->facts, change, &keys, &all, &settings), 0);
    vec_sort(&keys, name_cmp);
    for (size_t i = 0; i < keys.count; i++) {
        assert_string_equal(keys.items[i].namespace, "d");
        if (i == 0 || strcmp(keys.items[i - 1].name, keys.items[i].name) != 0)
            text_addf(&out, "%s%s", out.length ? " " : "", keys.items[i].name);
    }
    if (settings)
        text_add(&out, "settings");
    assert_string_equal(all ? "all" : text_str(&out), expected);
    vec_done(&keys);
    vec_done(&changes);
    store_changes_done(planning->store);
}

static void begin(struct planning *planning)
{
    planning_begin(planning);
    add_range(&planning->config->services.external_ips, "0.0.0.0/0");
    put_node(planning, "node-1", "zone-a", "{type: InternalIP, address: 192.0.2.1}");
    put_served(planning, "alone", "ClusterIP", "10.96.0.9", "ports: [{port: 30080}]", "");
    put_served(planning, "a", "LoadBalancer", "10.96.0.1", "ports: [{port: 80}]",
               "{ip: 198.51.100.1}");
    put_served(planning, "b", "LoadBalancer", "10.96.0.2", "ports: [{port: 443}]",
               "{ip: 198.51.100.1}");
    put_served(planning, "n", "NodePort", "10.96.0.3", PORT, "");
    put_served(planning, "m", "NodePort", "10.96.0.4", PORT, "");
    store_changes_done(planning->store);
}

static void services_touch_whom_they_meet(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    /* Whether the node has its address is known only while it is planned. */
    put_served(&planning, "alone", "ClusterIP", "10.96.0.9", "ports: [{port: 32000}]", "");
    assert_touched(&planning, "alone m n");
    put_served(&planning, "alone", "ClusterIP", "10.96.0.9", "ports: [{port: 32001}]", "");
    assert_touched(&planning, "alone");
    put_served(&planning, "a", "LoadBalancer", "10.96.0.1", "ports: [{port: 443}]",
               "{ip: 198.51.100.1}");
    assert_touched(&planning, "a b");
    put_served(&planning, "a", "LoadBalancer", "10.96.0.1", "ports: [{port: 443}]", "");
    assert_touched(&planning, "a b");
    put_served(&planning, "n", "NodePort", "10.96.0.3", "ports: [{port: 80, nodePort: 31000}]", "");
    assert_touched(&planning, "m n");
    put_served(&planning, "alone", "ClusterIP", "10.96.0.9",
               "externalIPs: [192.0.2.1], ports: [{port: 30080}]", "");
    assert_touched(&planning, "alone m");
    assert_true(store_remove(planning.store, "t", KIND_SERVICE, "d", "alone") == 1);
    assert_touched(&planning, "alone m");
}

static void slices_touch_their_service(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_slice(&planning, "web-1", "{addresses: [10.0.0.1]}");
    assert_touched(&planning, "web");
    put_endpoint(&planning, "web-1", "a", "10.0.0.1", "node-1", "ready: true");
    assert_touched(&planning, "a web");
    assert_true(store_remove(planning.store, "t", KIND_ENDPOINT_SLICE, "d", "web-1") == 1);
    assert_touched(&planning, "a");
    put(&planning, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                   "metadata: {name: lost, namespace: d}\naddressType: IPv4\nports: []\n"
                   "endpoints: []\n");
    assert_touched(&planning, "");
}

static void only_this_node_touches_all(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_node(&planning, "node-2", "zone-a", "{type: InternalIP, address: 192.0.2.2}");
    assert_touched(&planning, "settings"); /* a peer */
    put_node(&planning, "node-2", "zone-b", "{type: InternalIP, address: 192.0.2.2}");
    assert_touched(&planning, "");
    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-1,\n"
                   "  labels: {topology.kubernetes.io/zone: zone-a,\n"
                   "    node.kubernetes.io/exclude-from-external-load-balancers: \"\"}}\n"
                   "status: {addresses: [{type: InternalIP, address: 192.0.2.1}]}\n");
    assert_touched(&planning, "");
    put_node(&planning, "node-1", "zone-b", "{type: InternalIP, address: 192.0.2.1}");
    assert_touched(&planning, "all");
    put_node(&planning, "node-1", "zone-b", "{type: ExternalIP, address: 192.0.2.1}");
    assert_touched(&planning, "all");
    put_node(&planning, "node-1", "zone-b", "{type: ExternalIP, address: 192.0.2.3}");
    assert_touched(&planning, "all");
    put_node(&planning, "node-1", "zone-b", "");
    assert_touched(&planning, "all");
    assert_true(store_remove(planning.store, "t", KIND_NODE, "", "node-1") == 1);
    assert_touched(&planning, "all");
    put(&planning, "apiVersion: v1\nkind: Namespace\nmetadata: {name: d}\n");
    assert_touched(&planning, "");
}

static void pools_and_blocks_touch_the_settings(void **state)
{
    (void)state;
    static const char pool[] = "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\n"
                               "metadata: {name: p}\nspec: {subnets: [{ipv4: 10.224.0.0/16}]}\n";
    static const char block[] =
        "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: b, labels: "
        "{coil.cybozu.com/node: %s, coil.cybozu.com/pool: p}}\nindex: 0\nipv4: %s\n";
    AUTOFREE char *first = text_format(block, "node-1", "10.224.0.0/27");
    AUTOFREE char *relabelled = text_format(block, "node-2", "10.224.0.0/27");
    AUTOFREE char *moved = text_format(block, "node-2", "10.224.0.32/27");
    for (int given = 0; given < 2; given++) {
        const char *expected = given ? "" : "settings";
        AUTOPLANNING struct planning planning;
        begin(&planning);
        planning.config->services.cluster_cidrs_set = given;
        put(&planning, pool);
        assert_touched(&planning, expected);
        put(&planning, first);
        assert_touched(&planning, expected);
        put(&planning, relabelled);
        assert_touched(&planning, "");
        put(&planning, moved);
        assert_touched(&planning, expected);
        assert_true(store_remove(planning.store, "t", KIND_ADDRESS_BLOCK, "", "b") == 1);
        assert_touched(&planning, expected);
        assert_true(store_remove(planning.store, "t", KIND_ADDRESS_POOL, "", "p") == 1);
        assert_touched(&planning, expected);
        put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\n"
                       "spec: {podCIDRs: [10.244.2.0/24]}\n");
        assert_touched(&planning, expected);
        put_node(&planning, "node-2", "", "");
        assert_touched(&planning, expected);
    }
}

static void show_family(struct text *out, const struct nat_family *family)
{
    char buffer[PREFIX_STRLEN];
    text_addf(out, " %u ready %u\n", family->family, family->local_ready);
    vec_each(const struct prefix, range, &family->source_ranges)
        text_addf(out, "  %s\n", prefix_str(range, buffer));
    vec_each(const struct ip, ip, &family->cluster_ips)
        text_addf(out, "  owns %s\n", ip_str(ip, buffer));
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        const struct nat_port *port = &family->ports.items[frontend->port_index];
        text_addf(out, "  %s %u %u %s %s:", ip_str(&frontend->address, buffer), frontend->protocol,
                  frontend->port, nat_frontend_kind_name(frontend->kind), port->name);
        for (enum nat_origin origin = 0; origin < NAT_ORIGINS; origin++) {
            const struct nat_outcome *outcome = &frontend->from[origin];
            text_addf(out, " %s %s %d %d", nat_origin_name(origin), nat_act_name(outcome->act),
                      outcome->set, outcome->masquerade);
        }
        add_set(out, &port->sets[NAT_SET_CLUSTER]);
        text_add(out, " |");
        add_set(out, &port->sets[NAT_SET_LOCAL]);
        text_add(out, " |");
        add_set(out, &port->serving);
        text_add(out, "\n");
    }
}

static char *show(const struct sorted *rows)
{
    struct text out = { 0 };
    char buffer[IP_STRLEN];
    for (size_t i = 0; i < rows->count; i++) {
        const struct nat_row *row = *(struct nat_row **)sorted_at(rows, i);
        text_addf(&out, "%s/%s affinity %u health %u\n", row->namespace, row->name,
                  row->affinity_seconds, row->health_check_node_port);
        for (uint32_t j = 0; j < row->family_count; j++)
            show_family(&out, &row->families[j]);
        vec_each(const struct ip, ip, &row->foreign)
            text_addf(&out, "  foreign %s\n", ip_str(ip, buffer));
    }
    text_add(&out, "end\n");
    return text_take(&out);
}

static void plan_again(struct planning *planning, const struct nat_key *key, struct sorted *rows)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct nat_row wanted = { .namespace = (char *)key->namespace, .name = (char *)key->name };
    struct nat_row *row = &wanted, **old = sorted_find(rows, &row);
    if (old) {
        struct nat_row *gone = *old;
        sorted_remove(rows, &row);
        nat_row_free(gone);
    }
    const struct object *object =
        store_get(planning->store, KIND_SERVICE, key->namespace, key->name);
    row = NULL;
    if (object)
        assert_int_equal(plan_nat_service(&planning->facts, to_service(object), &row, &faults), 0);
    if (row)
        assert_int_equal(sorted_put(rows, &row), 0);
}

static void follow(struct planning *planning, struct sorted *rows)
{
    change_list changes;
    nat_key_list keys = { 0 };
    bool all = false, settings = false;
    assert_int_equal(store_changes(planning->store, &changes), 0);
    vec_each(const struct change, change, &changes)
        assert_int_equal(plan_nat_affected(&planning->facts, change, &keys, &all, &settings), 0);
    object_list services = { 0 };
    if (all)
        assert_int_equal(store_list(planning->store, KIND_SERVICE, &services), 0);
    vec_each(const struct object *, object, &services)
        assert_int_equal(vec_push(&keys, (struct nat_key){ (*object)->namespace, (*object)->name }),
                         0);
    vec_each(const struct nat_key, key, &keys)
        plan_again(planning, key, rows);
    vec_done(&services);
    vec_done(&keys);
    vec_done(&changes);
    store_changes_done(planning->store);
}

/* A small generator of its own: the same edits everywhere. */
static unsigned below(uint64_t *seed, unsigned limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*seed >> 33) % limit;
}

static const char *pick(uint64_t *seed, const char *const *words, unsigned count)
{
    return words[below(seed, count)];
}
#define PICK(...)                                    \
    pick(seed, (const char *const[]){ __VA_ARGS__ }, \
         ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

static void edit_service(struct planning *planning, const char *name, uint64_t *seed)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: d%s}\n"
        "spec: {type: %s, clusterIPs: [%s], externalIPs: [%s], %s\n"
        "  ports: [{name: h, port: %s, nodePort: %s, protocol: %s}, {name: g, port: 81}]}\n"
        "status: {loadBalancer: {ingress: [%s]}}\n",
        name,
        PICK("", ", creationTimestamp: \"2026-11-20T07:00:00Z\"",
             ", labels: {service.kubernetes.io/service-proxy-name: x}"),
        PICK("ClusterIP", "NodePort", "LoadBalancer", "LoadBalancer", "ExternalName"),
        PICK("10.96.0.1", "10.96.0.2", "10.96.0.2, \"fd00:96::1\"", "None", "192.0.2.1"),
        PICK("", "192.0.2.1", "203.0.113.1, 192.0.2.2", "10.96.0.1"),
        PICK("", "externalTrafficPolicy: Local, healthCheckNodePort: 30099,",
             "loadBalancerSourceRanges: [192.0.2.0/24],", "sessionAffinity: ClientIP,"),
        PICK("80", "443", "30080"), PICK("30080", "30081", "443"), PICK("TCP", "TCP", "UDP"),
        PICK("", "{ip: 198.51.100.1}", "{ip: 203.0.113.1}, {ip: \"2001:db8::1\"}"));
    put(planning, yaml);
}

static void edit_slice(struct planning *planning, const char *name, uint64_t *seed)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
        "metadata: {name: %s, namespace: d, labels: {kubernetes.io/service-name: %s}}\n"
        "addressType: IPv4\nports: [{name: %s, port: 8080}]\n"
        "endpoints: [{addresses: [10.0.0.%s], nodeName: %s, hints: {forZones: [{name: %s}]},\n"
        "  conditions: {%s}}]\n",
        name, PICK("a", "b", "c", "x"), PICK("h", "g"), PICK("1", "2"), PICK("node-1", "node-2"),
        PICK("zone-a", "zone-b"),
        PICK("ready: true", "ready: false", "ready: false, serving: true, terminating: true"));
    put(planning, yaml);
}

static void edit(struct planning *planning, uint64_t *seed)
{
    const char *service = PICK("a", "b", "c"), *slice = PICK("s", "t", "u");
    switch (below(seed, 8)) {
    case 0:
        (void)store_remove(planning->store, "t", KIND_SERVICE, "d", service);
        break;
    case 1:
        (void)store_remove(planning->store, "t", KIND_ENDPOINT_SLICE, "d", slice);
        break;
    case 2:
        put_node(planning, PICK("node-1", "node-2"), PICK("zone-a", "zone-b", ""),
                 PICK("", "{type: InternalIP, address: 192.0.2.1}",
                      "{type: InternalIP, address: 192.0.2.2}, {type: InternalIP, address: "
                      "192.0.2.1}"));
        break;
    case 3:
    case 4:
        edit_slice(planning, slice, seed);
        break;
    default:
        edit_service(planning, service, seed);
        break;
    }
}

static void rows_follow_random_edits(void **state)
{
    (void)state;
    size_t frontends = 0;
    for (uint64_t run = 1; run <= 20; run++) {
        AUTOPLANNING struct planning planning;
        struct sorted kept = SORTED(struct nat_row *, nat_row_cmp);
        uint64_t seed = run;
        planning_begin(&planning);
        add_range(&planning.config->services.external_ips, "0.0.0.0/0");
        for (int step = 0; step < 100; step++) {
            AUTOFAULTS struct faults faults = { 0 };
            struct sorted anew;
            edit(&planning, &seed);
            follow(&planning, &kept);
            assert_int_equal(plan_nat(&planning.facts, &anew, &faults), 0);
            AUTOFREE char *left = show(&kept);
            AUTOFREE char *right = show(&anew);
            assert_string_equal(left, right);
            for (size_t i = 0; i < anew.count; i++)
                frontends += (*(struct nat_row **)sorted_at(&anew, i))->families[0].frontends.count;
            nat_rows_done(&anew);
        }
        nat_rows_done(&kept);
    }
    assert_true(frontends > 5000); /* the world is not empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_touch_whom_they_meet),
        cmocka_unit_test(slices_touch_their_service),
        cmocka_unit_test(only_this_node_touches_all),
        cmocka_unit_test(pools_and_blocks_touch_the_settings),
        cmocka_unit_test(rows_follow_random_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
