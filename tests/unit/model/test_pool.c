// SPDX-License-Identifier: Apache-2.0
/* MetalLB's kinds: IPAddressPool, BGPAdvertisement, L2Advertisement, by the rules of its webhooks.
 */
#include "base/macro.h"
#include "base/text.h"
#include "decoded.h"
#include "model/advertisement.h"
#include "model/ip_pool.h"

#define HEAD(kind) \
    "apiVersion: metallb.io/v1beta1\nkind: " kind "\nmetadata: {name: lb, namespace: lb}\n"

static void reads_a_pool(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata:\n"
                    "  name: lb\n  labels: {zone: a}\n  annotations:\n"
                    "    fingerpost.io/reserved: \"192.0.2.7, 192.0.2.12-192.0.2.14 \"\n"
                    "spec:\n"
                    "  addresses: [192.0.2.0/28, \"2001:db8::/120\", 198.51.100.1-198.51.100.9]\n"
                    "  autoAssign: false\n  avoidBuggyIPs: true\n"
                    "  serviceAllocation:\n    priority: 50\n    namespaces: [shop]\n"
                    "    namespaceSelectors: [{matchLabels: {team: shop}}]\n"
                    "    serviceSelectors:\n    - matchExpressions:\n"
                    "      - {key: app, operator: In, values: [web, api]}\n");
    assert_decoded(&decoded, 0);
    const struct ip_pool *pool = to_ip_pool(decoded.object);
    assert_string_equal(pool->object.namespace, "default");
    static const char *const ranges[] = { "192.0.2.0-192.0.2.15", "2001:db8::-2001:db8::ff",
                                          "198.51.100.1-198.51.100.9" };
    static const char *const reserved[] = { "192.0.2.7", "192.0.2.12-192.0.2.14" };
    char text[IP_RANGE_STRLEN];
    assert_int_equal(pool->range_count, ARRAY_SIZE(ranges));
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
        assert_string_equal(ip_range_str(&pool->ranges[i], text), ranges[i]);
    assert_int_equal(pool->reserved_count, ARRAY_SIZE(reserved));
    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
        assert_string_equal(ip_range_str(&pool->reserved[i], text), reserved[i]);
    assert_false(pool->auto_assign);
    assert_true(pool->avoid_buggy && pool->chosen);
    assert_int_equal(pool->priority, 50);
    assert_true(name_list_has(&pool->namespaces, "shop"));
    assert_false(name_list_has(&pool->namespaces, "sho"));
    const struct label team[] = { { "team", "shop" } }, app[] = { { "app", "api" } };
    assert_true(object_selectors_match(&pool->namespace_selectors, team, 1));
    assert_false(object_selectors_match(&pool->namespace_selectors, app, 1));
    assert_true(object_selectors_match(&pool->service_selectors, app, 1));
    assert_false(object_selectors_match(&pool->service_selectors, NULL, 0));
}

/* Who writes the counts may write anything: the pool is the same, and is read. */
static void a_status_makes_no_other_pool(void **state)
{
    (void)state;
    AUTODECODED struct decoded plain =
        decode_yaml(HEAD("IPAddressPool") "spec: {addresses: [192.0.2.0/28]}\n");
    AUTODECODED struct decoded counted =
        decode_yaml(HEAD("IPAddressPool") "spec: {addresses: [192.0.2.0/28]}\n"
                                          "status: {assignedIPv4: 3, assignedIPv6: [], "
                                          "availableIPv4: -9, availableIPv6: 13}\n");
    assert_decoded(&plain, 0);
    assert_decoded(&counted, 0);
    const struct ip_pool_counts *counts = &to_ip_pool(counted.object)->counts;
    assert_int_equal(counts->assigned[0], 3);
    assert_int_equal(counts->assigned[1], -1);
    assert_int_equal(counts->available[0], -1);
    assert_int_equal(counts->available[1], 13);
    assert_int_equal(to_ip_pool(plain.object)->counts.assigned[0], -1);
    assert_true(object_equal(plain.object, counted.object));
}

static void a_plain_pool_is_for_everybody(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml(HEAD("IPAddressPool") "spec: {addresses: [192.0.2.9/28]}\n");
    assert_decoded(&decoded, 1);
    assert_fault(&decoded.warnings, "test:4:20", "read as 192.0.2.0-192.0.2.15");
    const struct ip_pool *pool = to_ip_pool(decoded.object);
    assert_true(pool->auto_assign);
    assert_false(pool->avoid_buggy || pool->chosen || pool->reserved_count);
}

static void refuses_bad_pools(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *place, *message;
    } cases[] = {
        { "{}", "test:4:7", "addresses is missing" },
        { "{addresses: []}", "test:4:19", "is empty" },
        { "{addresses: [192.0.2.0/33]}", "test:4:20", "is no address, CIDR or range" },
        { "{addresses: [192.0.2.9-192.0.2.8]}", "test:4:20", "is no address, CIDR or range" },
        { "{addresses: [192.0.2.1-fd00::1]}", "test:4:20", "is no address, CIDR or range" },
        { "{addresses: [224.0.0.0/24]}", "test:4:20", "multicast" },
        { "{addresses: [10.0.0.0/24], autoAssign: 1}", "test:4:46", "autoAssign" },
        { "{addresses: [10.0.0.0/24], serviceAllocation: {priority: -1}}", "test:4:64",
          "priority" },
        { "{addresses: [10.0.0.0/24], serviceAllocation: {serviceSelectors: [{matchExpressions: "
          "[{key: a, operator: Gt}]}]}}",
          "test:4:112", "unknown word" },
        { "{addresses: [10.0.0.0/24], serviceAllocation: {serviceSelectors: [{matchExpressions: "
          "[{key: a, operator: In}]}]}}",
          "test:4:93", "values go with" },
        { "{addresses: [10.0.0.0/24], serviceAllocation: {serviceSelectors: [{matchExpressions: "
          "[{key: a, operator: Exists, values: [b]}]}]}}",
          "test:4:93", "values go with" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), HEAD("IPAddressPool") "spec: %s\n", cases[i].spec);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, cases[i].place, cases[i].message);
    }
}

static void selectors_are_bounded(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    text_add(&text, HEAD("L2Advertisement") "spec: {nodeSelectors: [{matchLabels: {a0: b");
    for (int i = 1; i <= LABEL_SELECTOR_MAX_REQUIREMENTS; i++)
        text_addf(&text, ", a%d: b", i);
    text_add(&text, "}}]}\n");
    AUTODECODED struct decoded decoded = decode_yaml(text_str(&text));
    assert_refused(&decoded, 1);
    assert_fault(&decoded.errors, "test:4:24", "more than 64 requirements");
}

static void an_advertisement_selects(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(HEAD(
        "BGPAdvertisement") "spec: {ipAddressPools: [lb], ipAddressPoolSelectors: [{matchLabels: "
                            "{a: b}}], nodeSelectors: [{}], aggregationLength: 32}\n");
    assert_decoded(&decoded, 0);
    const struct advertisement *advertisement = to_advertisement(decoded.object);
    assert_true(name_list_has(&advertisement->pools, "lb"));
    assert_int_equal(advertisement->pool_selectors.count, 1);
    assert_true(object_selectors_match(&advertisement->node_selectors, NULL, 0));
    assert_int_equal(advertisement->service_selectors.count, 0);
}

static void what_is_not_done_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *message;
    } cases[] = {
        { "{communities: [a]}", "fingerpost.io/route-class" },
        { "{localPref: 100}", "fingerpost.io/route-class" },
        { "{peers: [tor]}", "export filters" },
        { "{aggregationLength: 24}", "aggregate in BIRD" },
        { "{aggregationLengthV6: 64}", "aggregate in BIRD" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];
        snprintf(text, sizeof(text), HEAD("BGPAdvertisement") "spec: %s\n", cases[i].spec);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, 1);
        assert_non_null(strstr(decoded.warnings.list.items[0].message, cases[i].message));
    }
}

static void it_reserves_what_it_has(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(
        "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: lb, annotations: "
        "{fingerpost.io/reserved: \"192.0.2.7,192.0.3.0-192.0.3.9\"}}\n"
        "spec: {addresses: [192.0.2.0/24, 198.51.100.0/24]}\n");
    assert_decoded(&decoded, 1);
    assert_fault(&decoded.warnings, "test:3:60",
                 "reserves 192.0.3.0-192.0.3.9, of which the pool has nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_pool),
        cmocka_unit_test(a_status_makes_no_other_pool),
        cmocka_unit_test(a_plain_pool_is_for_everybody),
        cmocka_unit_test(refuses_bad_pools),
        cmocka_unit_test(selectors_are_bounded),
        cmocka_unit_test(an_advertisement_selects),
        cmocka_unit_test(it_reserves_what_it_has),
        cmocka_unit_test(what_is_not_done_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
