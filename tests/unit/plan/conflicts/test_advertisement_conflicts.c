// SPDX-License-Identifier: Apache-2.0
/* Advertisements that select nothing. */
#include "plan/conflicts/advertisement_conflicts.h"

#include "planning.h"
#include "raised.h"

#define METALLB "apiVersion: metallb.io/v1beta1\n"

static void put_advertisement(struct planning *planning, const char *spec)
{
    AUTOFREE char *yaml = text_format(METALLB "kind: BGPAdvertisement\n"
                                              "metadata: {name: a, namespace: lb}\nspec: {%s}\n",
                                      spec);
    put(planning, yaml);
}

static void assert_conflicts(struct planning *planning, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    advertisement_conflicts(planning->store, &faults);
    assert_raised(&faults, expected);
}

static void what_selects_nothing_is_told(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put(&planning,
        METALLB "kind: IPAddressPool\nmetadata: {name: p, namespace: lb, labels: {a: b}}\n"
                "spec: {addresses: [203.0.113.0/28]}\n");
    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {a: b}}\n");
    put_advertisement(&planning, "");
    assert_conflicts(&planning, "");
    put_advertisement(&planning, "ipAddressPools: [p], "
                                 "ipAddressPoolSelectors: [{matchLabels: {a: b}}], "
                                 "nodeSelectors: [{matchLabels: {a: b}}]");
    assert_conflicts(&planning, "");
    put_advertisement(&planning, "ipAddressPools: [p, q, r], "
                                 "ipAddressPoolSelectors: [{matchLabels: {a: c}}], "
                                 "nodeSelectors: [{matchLabels: {a: c}}]");
    assert_conflicts(&planning, "advertisement-pool-unknown at BGPAdvertisement lb/a\n"
                                "advertisement-pool-unknown at BGPAdvertisement lb/a\n"
                                "advertisement-selects-no-pool at BGPAdvertisement lb/a\n"
                                "advertisement-selects-no-node at BGPAdvertisement lb/a\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_selects_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
