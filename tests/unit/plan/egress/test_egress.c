// SPDX-License-Identifier: Apache-2.0
/*
 * Egress: that a plan kept up to date by what changes touch equals one from nothing, what changes
 * do not touch, and memory that runs out. What is planned is in tests/golden/egress-*, but for some
 * faults.
 */
#include <stdio.h>

#include "failing_heap.h"
#include "plan/egress/egress_rows.h"
#include "plan/egress/gateway_address.h"
#include "planning.h"
#include "raised.h"

enum { ROUNDS = 400, CHANGES = 3 };

static const char nodes[] = "apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {role: %s}}\n"
                            "spec: {podCIDRs: [10.224.%d.0/24]}\n"
                            "status: {addresses: [{type: InternalIP, address: 192.0.2.%d}]}\n";

/* One of some objects that can be, of which there are `versions`; version 0: it is not there. */
static char *random_object(unsigned number, unsigned version)
{
    static const char *const egresses[] = { "nat", "lab", "far" };
    static const char *const destinations[] = { "0.0.0.0/0", "198.51.100.0/24, 0.0.0.0/0",
                                                "\"::/0\", 0.0.0.0/0" };
    static const char *const lists[] = { "nat", "nat,lab", "far, Nat", "lab,far" };
    static const char *const roles[] = { "gateway", "worker", "other" };
    unsigned which = number % 4;
    switch (number / 4) {
    case 0: /* Nodes */
        return text_format(nodes, which ? "node-2" : "node-1", roles[version % 3], (int)which % 2,
                           (int)(version % 5) + 1);
    case 1: /* Egresses */
        return text_format(
            "apiVersion: coil.cybozu.com/v2\nkind: Egress\n"
            "metadata: {name: %s, namespace: net%s,\n"
            "  creationTimestamp: '2026-11-%02uT00:00:00Z'}\nspec: {destinations: [%s]}\n",
            egresses[which % 3],
            which % 3 ? ", annotations: {fingerpost.io/gateway-nodes: role=gateway}" : "",
            version % 3 + 1, destinations[version % 3]);
    case 2: /* the Service of one, and its slice */
        if (which < 2)
            return text_format("apiVersion: v1\nkind: Service\n"
                               "metadata: {name: nat, namespace: net}\n"
                               "spec: {clusterIPs: [10.96.0.%u], ports: [{port: 5555}]}\n",
                               version);
        return text_format("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                           "metadata: {name: nat-%u, namespace: net,\n"
                           "  labels: {kubernetes.io/service-name: %s}}\naddressType: IPv4\n"
                           "ports: [{port: 5555}]\n"
                           "endpoints: [{addresses: [10.224.9.%u], conditions: {ready: %s}}]\n",
                           which, version % 4 ? "nat" : "lab", version,
                           version % 2 ? "true" : "false");
    default: /* Pods */
        return text_format("apiVersion: v1\nkind: Pod\n"
                           "metadata: {name: p%u, namespace: shop, creationTimestamp: "
                           "'2026-11-%02uT00:00:00Z',\n"
                           "  annotations: {egress.coil.cybozu.com/net: '%s'}}\n"
                           "spec: {nodeName: %s, hostNetwork: %s}\n"
                           "status: {podIPs: [{ip: 10.224.1.%u}, {ip: 'fd00::%u'}]}\n",
                           number, version % 7 + 1, lists[version % 4],
                           version % 3 ? "node-1" : "node-2", version % 6 ? "false" : "true",
                           version % 5, number);
    }
}

static size_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(*seed >> 33);
}

static void change_one(struct planning *planning, unsigned number, unsigned version)
{
    AUTOFREE char *yaml = random_object(number, version);
    struct object *object = object_of(yaml);
    if (version % 6 == 5) {
        (void)store_remove(planning->store, "t", object->kind, object->namespace, object->name);
        object_free(object);
    } else {
        assert_true(store_put(planning->store, "t", object) >= 0);
    }
}

/* Puts a row in its table, in place of the one that was there. */
#define replace(table, type, wanted, row, free_row)                          \
    ({                                                                       \
        struct type *found_ = NULL, *const wanted_ = (wanted);               \
        struct type **there_ = sorted_find(table, &wanted_);                 \
        found_ = there_ ? *there_ : NULL;                                    \
        if (there_)                                                          \
            sorted_remove(table, &wanted_);                                  \
        free_row(found_);                                                    \
        if (row)                                                             \
            assert_int_equal(sorted_put(table, &(struct type *){ row }), 0); \
    })

static void update_set(struct planning *planning, const struct egress_ref *ref,
                       struct egress_plan *plan)
{
    const struct object *object =
        store_get(planning->store, KIND_EGRESS, ref->namespace, ref->name);
    AUTOFREE char *name = text_format("%s/%s", ref->namespace, ref->name);
    struct egress_set *sets[2] = { 0 };
    if (object)
        assert_int_equal(
            plan_egress_sets(&planning->facts, to_egress(object), sets, &planning->faults), 0);
    for (int i = 0; i < 2; i++) {
        struct egress_set wanted = { .egress = name, .family = i ? IP_V6 : IP_V4 };
        replace(&plan->sets, egress_set, &wanted, sets[i], egress_set_free);
    }
}

/* The policies that pods have, from nothing: a policy's content is a matter of its key's Egresses,
 * whose pods' addresses are all touched when one of them changes. */
static void update_policies(struct planning *planning, const ip_list *touched,
                            struct egress_plan *plan)
{
    struct sorted policies = SORTED(struct egress_policy *, egress_policy_cmp);
    sorted_each(struct egress_pod *const, pod, &plan->pods) {
        struct egress_policy wanted = { .key = (*pod)->policy }, *pointer = &wanted;
        struct egress_policy **old = sorted_find(&plan->policies, &pointer), *policy = NULL;
        if (!(*pod)->is_client || sorted_find(&policies, &pointer))
            continue;
        bool is_touched = false;
        sorted_each(struct egress_pod *const, other, &plan->pods)
            is_touched |= egress_policy_key_cmp(&(*other)->policy, &(*pod)->policy) == 0 &&
                          vec_find(touched, &(*other)->address, ip_item_cmp);
        if (old && !is_touched) {
            policy = *old;
            sorted_remove(&plan->policies, &pointer);
        } else {
            assert_int_equal(
                plan_egress_policy(&planning->facts, &wanted.key, &policy, &planning->faults), 0);
        }
        assert_int_equal(sorted_put(&policies, &policy), 0);
    }
    sorted_each(struct egress_policy *, policy, &plan->policies)
        egress_policy_free(*policy);
    sorted_move(&plan->policies, &policies);
}

static void update_served(struct planning *planning, const egress_ref_list *served,
                          struct egress_touched *touched, struct egress_plan *plan)
{
    AUTOTEXT struct text list = { 0 };
    vec_each(const struct egress_ref, ref, served)
        text_addf(&list, "%s%s/%s", list.length ? "," : "", ref->namespace, ref->name);
    if (strcmp(plan->served, text_str(&list)) == 0)
        return;
    assert_true(touched->served);
    free(plan->served);
    plan->served = strdup(text_str(&list));
    sorted_each(struct egress_client *const, client, &plan->clients)
        assert_int_equal(vec_push(&touched->addresses, (*client)->address), 0);
    AUTOVEC object_list pods = { 0 };
    assert_int_equal(store_list(planning->store, KIND_POD, &pods), 0);
    vec_each(const struct object *, pod, &pods)
        assert_int_equal(vec_push(&touched->addresses, to_pod(*pod)->ips[0]) |
                             vec_push(&touched->addresses, to_pod(*pod)->ips[1]),
                         0);
}

static void update(struct planning *planning, struct egress_touched *touched,
                   struct egress_plan *plan)
{
    AUTOVEC egress_ref_list served = { 0 };
    assert_int_equal(plan_egress_served(&planning->facts, &served, &planning->faults), 0);
    update_served(planning, &served, touched, plan);
    vec_each(const struct egress_ref, ref, &touched->egresses)
        update_set(planning, ref, plan);
    ip_list_unite(&touched->addresses);
    vec_each(const struct ip, address, &touched->addresses) {
        struct egress_pod *pod, wanted = { .address = *address };
        struct egress_client *client, wanted_client = { .address = *address };
        assert_int_equal(plan_egress_pod(&planning->facts, address, &pod, &planning->faults), 0);
        replace(&plan->pods, egress_pod, &wanted, pod, egress_pod_free);
        assert_int_equal(plan_egress_client(&planning->facts, &served, address, &client), 0);
        replace(&plan->clients, egress_client, &wanted_client, client, egress_client_free);
    }
    update_policies(planning, &touched->addresses, plan);
    if (touched->excluded) {
        vec_clear(&plan->excluded);
        assert_int_equal(plan_egress_excluded(&planning->facts, &plan->excluded, &planning->faults),
                         0);
    }
}

#define assert_same_rows(left, right, type, equal)                     \
    ({                                                                 \
        assert_int_equal((left)->count, (right)->count);               \
        for (size_t i_ = 0; i_ < (left)->count; i_++)                  \
            assert_true(equal(*(struct type **)sorted_at(left, i_),    \
                              *(struct type **)sorted_at(right, i_))); \
    })

static void assert_same_plans(const struct egress_plan *a, const struct egress_plan *b)
{
    assert_same_rows(&a->sets, &b->sets, egress_set, egress_set_equal);
    assert_same_rows(&a->policies, &b->policies, egress_policy, egress_policy_equal);
    assert_same_rows(&a->pods, &b->pods, egress_pod, egress_pod_equal);
    assert_same_rows(&a->clients, &b->clients, egress_client, egress_client_equal);
    assert_true(
        prefixes_equal(a->excluded.items, a->excluded.count, b->excluded.items, b->excluded.count));
    assert_string_equal(a->served, b->served);
}

/* What a round changes, told by the store, and the plan with it. */
static void play_round(struct planning *planning, uint64_t *seed, struct egress_plan *plan)
{
    CLEANUP(egress_touched_done) struct egress_touched touched = { 0 };
    AUTOVEC change_list changes = { 0 };
    for (int i = 0; i < CHANGES; i++)
        change_one(planning, (unsigned)next_random(seed) % 28, (unsigned)next_random(seed) % 60);
    assert_int_equal(store_changes(planning->store, &changes), 0);
    vec_each(const struct change, change, &changes)
        assert_int_equal(plan_egress_affected(&planning->facts, change, &touched), 0);
    update(planning, &touched, plan);
    faults_done(&planning->faults);
    store_changes_done(planning->store);
}

static void changes_touch_all_that_they_alter(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(egress_plan_done) struct egress_plan plan;
    uint64_t seed = 20261123;
    size_t clients = 0, policies = 0;
    planning_begin(&planning);
    planning.config->egress.enabled = planning.config->egress.gateway.enabled = true;
    assert_int_equal(plan_egress(&planning.facts, &plan, &planning.faults), 0);
    for (int i = 0; i < ROUNDS; i++) {
        CLEANUP(egress_plan_done) struct egress_plan fresh;
        play_round(&planning, &seed, &plan);
        assert_int_equal(plan_egress(&planning.facts, &fresh, &planning.faults), 0);
        faults_done(&planning.faults);
        assert_same_plans(&plan, &fresh);
        clients += fresh.clients.count;
        policies += fresh.policies.count;
    }
    assert_true(clients > ROUNDS && policies > ROUNDS);
}

/* Pods of two nodes with addresses of their own; some share one, or name what does not exist, or
 * two Egresses with one destination. */
static void change_pod(struct planning *planning, uint64_t *seed)
{
    static const char *const lists[] = { "nat", "nat", "lab", "", "gone", "nat,lab" };
    unsigned number = (unsigned)next_random(seed) % 12;
    bool odd = next_random(seed) % 16 == 0;
    AUTOFREE char *yaml = text_format(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p%u, namespace: shop,\n"
        "  annotations: {egress.coil.cybozu.com/net: '%s'}}\nspec: {nodeName: node-%u}\n"
        "status: {podIPs: [{ip: 10.224.1.%u}, {ip: 'fd00::%u'}]}\n",
        number, lists[next_random(seed) % (odd ? 6 : 4)], (unsigned)next_random(seed) % 2 + 1,
        odd ? 1 : number * 4 + (unsigned)next_random(seed) % 2, number);
    struct object *object = object_of(yaml);
    if (next_random(seed) % 4 == 0) {
        (void)store_remove(planning->store, "t", object->kind, object->namespace, object->name);
        object_free(object);
    } else {
        assert_true(store_put(planning->store, "t", object) >= 0);
    }
}

/* Rows planned alone make the plan that is made from nothing, and mostly they are enough. */
static void rows_are_planned_alone(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(egress_plan_done) struct egress_plan plan;
    uint64_t seed = 20261124;
    int enough = 0;
    planning_begin(&planning);
    planning.config->egress.enabled = planning.config->egress.gateway.enabled = true;
    for (unsigned number = 0; number < 6; number++)
        change_one(&planning, number, 3);
    store_changes_done(planning.store);
    assert_int_equal(plan_egress(&planning.facts, &plan, &planning.faults), 0);
    for (int i = 0; i < ROUNDS; i++) {
        CLEANUP(egress_touched_done) struct egress_touched touched = { 0 };
        AUTOVEC change_list changes = { 0 };
        struct egress_plan fresh;
        faults_done(&planning.faults);
        change_pod(&planning, &seed);
        assert_int_equal(store_changes(planning.store, &changes), 0);
        vec_each(const struct change, change, &changes)
            assert_int_equal(plan_egress_affected(&planning.facts, change, &touched), 0);
        ip_list_unite(&touched.addresses);
        int r = plan_egress_rows(&planning.facts, &touched, &plan);
        store_changes_done(planning.store);
        assert_int_equal(plan_egress(&planning.facts, &fresh, &planning.faults), 0);
        if (r > 0) {
            assert_same_plans(&plan, &fresh);
            assert_false(fresh.pods_told);
            enough++;
        } else {
            assert_int_equal(r, 0);
            egress_plan_done(&plan);
            faults_done(&planning.faults);
            assert_int_equal(plan_egress(&planning.facts, &plan, &planning.faults), 0);
        }
        egress_plan_done(&fresh);
    }
    assert_true(enough > ROUNDS / 3 && enough < ROUNDS);
}

static struct egress_touched touched_by(struct planning *planning, unsigned number,
                                        unsigned version)
{
    struct egress_touched touched = { 0 };
    AUTOVEC change_list changes = { 0 };
    change_one(planning, number, version);
    assert_int_equal(store_changes(planning->store, &changes), 0);
    assert_int_equal(changes.count, 1);
    assert_int_equal(plan_egress_affected(&planning->facts, changes.items, &touched), 0);
    store_changes_done(planning->store);
    return touched;
}

/* One pod among a thousand, one slice among two hundred Egresses. */
static void changes_touch_no_more(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    planning.config->egress.enabled = planning.config->egress.gateway.enabled = true;
    for (unsigned number = 0; number < 28; number++)
        change_one(&planning, number, 1);
    store_changes_done(planning.store);

    CLEANUP(egress_touched_done) struct egress_touched pod = touched_by(&planning, 16, 3);
    ip_list_unite(&pod.addresses);
    assert_int_equal(pod.addresses.count, 3); /* before and after, and its other family */
    assert_int_equal(pod.egresses.count, 0);
    assert_int_equal(pod.named.count, 4); /* two before, two after */
    assert_false(pod.excluded || pod.served);

    CLEANUP(egress_touched_done) struct egress_touched slice = touched_by(&planning, 10, 3);
    assert_int_equal(slice.egresses.count, 2); /* the same, before and after */
    assert_int_equal(slice.addresses.count + slice.named.count, 0);
    assert_false(slice.excluded || slice.served);
}

static void fill(struct planning *planning)
{
    planning_begin(planning);
    planning->config->egress.enabled = planning->config->egress.gateway.enabled = true;
    for (unsigned number = 0; number < 28; number++)
        change_one(planning, number, 1 + number % 4);
}

static void memory_may_be_out(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(egress_plan_done) struct egress_plan whole;
    fill(&planning);
    assert_int_equal(plan_egress(&planning.facts, &whole, &planning.faults), 0);
    int failures = 0;
    for (int n = 0;; n++) {
        struct egress_plan plan;
        AUTOFAULTS struct faults faults = { 0 };
        int r = with_heap(n, plan_egress(&planning.facts, &plan, &faults));
        if (r == 0) { /* only of faults something may be lost */
            assert_same_plans(&plan, &whole);
            assert_true(heap_missed || !faults.incomplete);
            egress_plan_done(&plan);
        } else {
            assert_int_equal(r, -ENOMEM);
            assert_true(heap_missed);
        }
        if (!heap_missed)
            break;
        failures++;
    }
    assert_true(failures > 100);
}

static void what_is_touched_may_be_out_of_memory(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    AUTOVEC change_list changes = { 0 };
    fill(&planning);
    assert_int_equal(store_changes(planning.store, &changes), 0);
    int failures = 0;
    vec_each(const struct change, change, &changes) {
        for (int n = 0;; n++) {
            CLEANUP(egress_touched_done) struct egress_touched touched = { 0 };
            int r = with_heap(n, plan_egress_affected(&planning.facts, change, &touched));
            assert_int_equal(r, heap_missed ? -ENOMEM : 0);
            if (!heap_missed)
                break;
            failures++;
        }
    }
    assert_true(failures > 20);
}

#define NAT_EGRESS                                                                        \
    "apiVersion: coil.cybozu.com/v2\nkind: Egress\nmetadata: {name: nat, namespace: d}\n" \
    "spec: {destinations: [0.0.0.0/0]}\n"

static void more_gateways_than_a_set_has_places(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(egress_plan_done) struct egress_plan plan;
    planning_begin(&planning);
    planning.config->egress.enabled = true;
    add_range(&planning.config->egress.in_cluster, "10.0.0.0/8");
    put(&planning, NAT_EGRESS);
    put_service(&planning, "nat", "", "clusterIP: None", "");
    for (int i = 0; i <= EGRESS_GATEWAYS_MAX; i++) {
        char slice[16], address[16];
        (void)snprintf(slice, sizeof(slice), "nat-%d", i);
        (void)snprintf(address, sizeof(address), "10.1.0.%d", i + 1);
        put_endpoint(&planning, slice, "nat", address, "node-2", "ready: true");
    }
    assert_int_equal(plan_egress(&planning.facts, &plan, &planning.faults), 0);
    assert_string_equal(raised(&planning.faults, "egress-gateways-excess")->message,
                        "65 IPv4 gateways, of which only the first 64 count");
}

static void a_gateway_knows_no_pods_and_has_anothers_address(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    AUTOVEC prefix_list excluded = { 0 };
    struct ip ip;
    struct address_row *row = NULL;
    planning_begin(&planning);
    put(&planning, NAT_EGRESS);
    assert_int_equal(plan_egress_gateway_excluded(&planning.facts, &excluded, &planning.faults), 0);
    assert_string_equal(raised(&planning.faults, "egress-gateway-pod-network-unknown")->place,
                        "egress");
    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\n"
                   "status: {addresses: [{type: InternalIP, address: 192.0.2.2}]}\n");
    assert_int_equal(ip_parse("192.0.2.2", &ip), 0);
    assert_int_equal(plan_gateway_address(&planning.inputs, &ip, &row, &planning.faults), 0);
    address_row_free(row);
    assert_string_equal(raised(&planning.faults, "egress-gateway-address-unusable")->place,
                        "egress.gateway.addresses");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_touch_no_more),
        cmocka_unit_test(memory_may_be_out),
        cmocka_unit_test(what_is_touched_may_be_out_of_memory),
        cmocka_unit_test(changes_touch_all_that_they_alter),
        cmocka_unit_test(rows_are_planned_alone),
        cmocka_unit_test(more_gateways_than_a_set_has_places),
        cmocka_unit_test(a_gateway_knows_no_pods_and_has_anothers_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
