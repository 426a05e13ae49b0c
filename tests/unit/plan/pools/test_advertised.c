// SPDX-License-Identifier: Apache-2.0
/* Pools and advertisements: which addresses are ours, who announces them, and what a change of them
 * touches. tests/golden/advertisements has the reasons. */
#include "plan/pools/advertised.h"

#include "nat_planning.h"
#include "plan/routes/claim.h"
#include "planning.h"

#define POOL(name, spec)                                                                       \
    "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: " name "}, spec: " \
    "{addresses: [" spec "]}}"
#define ADVERTISEMENT(kind, spec) \
    "{apiVersion: metallb.io/v1beta1, kind: " kind ", metadata: {name: a}, spec: {" spec "}}"
#define NODE(name, labels)                                                                    \
    "{apiVersion: v1, kind: Node, metadata: {name: " name ", labels: {" labels "}}, status: " \
    "{addresses: [{type: InternalIP, address: 192.0.2.99}]}}"

static const char *reason(struct planning *planning)
{
    struct ip ip;
    assert_int_equal(ip_parse("198.51.100.1", &ip), 0);
    const struct object *web = store_get(planning->store, KIND_SERVICE, "d", "web");
    return address_reason_name(advertised_here(&planning->facts, to_service(web), &ip));
}

static const char *served(struct planning *planning, const char *address)
{
    const struct object *web = store_get(planning->store, KIND_SERVICE, "d", "web");
    struct service_address balanced = { .origin = ADDRESS_LOAD_BALANCER };
    assert_int_equal(ip_parse(address, &balanced.ip), 0);
    return address_reason_name(claim_served(&planning->facts, to_service(web), &balanced));
}

static void begin(struct planning *planning, const char *spec)
{
    planning_begin(planning);
    put_service(planning, "web", "", spec, "{ip: 198.51.100.1}");
}

static void ranges_are_those_of_pools(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning, "clusterIP: 10.96.0.1");
    assert_string_equal(served(&planning, "203.0.113.1"), "announced");
    put(&planning, POOL("lb", "198.51.100.0/28"));
    assert_string_equal(served(&planning, "198.51.100.15"), "announced");
    assert_string_equal(served(&planning, "203.0.113.1"), "outside-ranges");
    add_range(&planning.config->services.load_balancer_ips, "203.0.113.0/24");
    assert_string_equal(served(&planning, "203.0.113.1"), "announced");
    assert_string_equal(served(&planning, "198.51.100.1"), "outside-ranges");
}

static void another_class_is_not_bound_to_our_pools(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning, "clusterIP: 10.96.0.1, loadBalancerClass: example.com/lb");
    put(&planning, POOL("lb", "198.51.100.0/28"));
    assert_string_equal(served(&planning, "203.0.113.1"), "announced");
}

static void advertisements_select(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning, "clusterIP: 10.96.0.1");
    put(&planning, POOL("lb", "198.51.100.0/28"));
    put(&planning, NODE("node-1", "rack: r1"));
    assert_string_equal(reason(&planning), "announced");
    put(&planning, ADVERTISEMENT("L2Advertisement", ""));
    assert_string_equal(reason(&planning), "l2-only");
    put(&planning, ADVERTISEMENT("BGPAdvertisement", "ipAddressPools: [other]"));
    assert_string_equal(reason(&planning), "l2-only");
    put(&planning, ADVERTISEMENT("L2Advertisement", "serviceSelectors: [{matchLabels: {a: b}}]"));
    assert_string_equal(reason(&planning), "no-advertisement");
    put(&planning, ADVERTISEMENT("BGPAdvertisement", "nodeSelectors: [{matchLabels: {rack: r2}}]"));
    assert_string_equal(reason(&planning), "other-nodes");
    put(&planning, NODE("node-1", "rack: r2"));
    assert_string_equal(reason(&planning), "announced");
}

static void an_address_of_no_pool_is_no_matter_of_theirs(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning, "clusterIP: 10.96.0.1");
    put(&planning, POOL("lb", "203.0.113.0/28"));
    put(&planning, ADVERTISEMENT("L2Advertisement", ""));
    assert_string_equal(reason(&planning), "announced");
}

/* Whether the change touches every address, and every Service of NAT. */
static void assert_touches(struct planning *planning, const char *yaml, bool addresses, bool nat)
{
    CLEANUP(object_freep) struct object *object = object_of(yaml);
    const struct change change = { .after = object };
    AUTOVEC ip_list touched = { 0 };
    AUTOVEC nat_key_list keys = { 0 };
    bool all = false, all_nat = false, settings = false;
    assert_int_equal(plan_affected_addresses(&planning->facts, &change, &touched, &all), 0);
    assert_int_equal(plan_nat_affected(&planning->facts, &change, &keys, &all_nat, &settings), 0);
    assert_int_equal(all, addresses);
    assert_int_equal(all_nat, nat);
}

static void what_decides_about_all_touches_all(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning, "clusterIP: 10.96.0.1");
    assert_touches(&planning, POOL("lb", "198.51.100.0/28"), true, true);
    assert_touches(&planning, ADVERTISEMENT("BGPAdvertisement", ""), true, false);
    assert_touches(&planning, ADVERTISEMENT("L2Advertisement", ""), true, false);
    assert_touches(&planning, NODE("node-2", "rack: r1"), false, false);
    put(&planning, ADVERTISEMENT("BGPAdvertisement", ""));
    assert_touches(&planning, NODE("node-2", "rack: r1"), false, false);
    bool all = false;
    AUTOVEC ip_list touched = { 0 };
    CLEANUP(object_freep) struct object *own = object_of(NODE("node-1", "rack: r1"));
    const struct change change = { .after = own };
    assert_int_equal(plan_affected_addresses(&planning.facts, &change, &touched, &all), 0);
    assert_true(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_those_of_pools),
        cmocka_unit_test(another_class_is_not_bound_to_our_pools),
        cmocka_unit_test(advertisements_select),
        cmocka_unit_test(an_address_of_no_pool_is_no_matter_of_theirs),
        cmocka_unit_test(what_decides_about_all_touches_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
