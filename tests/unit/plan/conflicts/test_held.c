// SPDX-License-Identifier: Apache-2.0
/* Objects that are deleted, and that somebody keeps. */
#include "plan/conflicts/held.h"

#include "planning.h"
#include "raised.h"

#define COIL "apiVersion: coil.cybozu.com/v2\n"

enum { NOW_MS = 100 * 1000 };

static void put_deleted(struct planning *planning, const char *yaml, int64_t ago_ms)
{
    struct object *object = object_of(yaml);
    object->deleting = true;
    object->deleting_ms = NOW_MS - ago_ms;
    assert_true(store_put(planning->store, "t", object) >= 0);
}

static void assert_held(struct planning *planning, enum kind kind, int64_t next_ms,
                        const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text got = { 0 };
    assert_int_equal(held_faults(planning->store, kind, NOW_MS, &faults), next_ms);
    vec_each(const struct fault, fault, &faults.list)
        text_addf(&got, "%s: %s: %s\n", code_of(fault), fault->place, fault->message);
    assert_string_equal(text_str(&got), expected);
}

#define POOL(name, finalizer)                                                           \
    COIL "kind: AddressPool\nmetadata: {name: " name ", finalizers: [" finalizer "]}\n" \
         "spec: {subnets: [{ipv4: 10.2.0.0/16}]}\n"

static void put_block(struct planning *planning, const char *name)
{
    AUTOFREE char *yaml = text_format(
        COIL "kind: AddressBlock\nmetadata: {name: %s, labels: {coil.cybozu.com/pool: a, "
             "coil.cybozu.com/node: n1}}\nindex: 1\nipv4: 10.2.0.0/27\n",
        name);
    put(planning, yaml);
}

static void a_pool_waits_for_its_blocks(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_block(&planning, "a-2");
    put_block(&planning, "a-1");
    put(&planning, POOL("a", "coil.cybozu.com"));
    assert_held(&planning, KIND_ADDRESS_POOL, INT64_MAX, "");
    put_deleted(&planning, POOL("a", "coil.cybozu.com"), 4000);
    assert_held(&planning, KIND_ADDRESS_POOL, 6000, "");
    put_deleted(&planning, POOL("a", "coil.cybozu.com"), -HELD_PATIENCE_MS); /* another clock */
    assert_held(&planning, KIND_ADDRESS_POOL, HELD_PATIENCE_MS, "");
    put_deleted(&planning, POOL("a", "coil.cybozu.com"), HELD_PATIENCE_MS);
    put_deleted(&planning, POOL("b", "coil.cybozu.com"), HELD_PATIENCE_MS); /* goes by itself */
    assert_held(
        &planning, KIND_ADDRESS_POOL, INT64_MAX,
        "deleted-pool-in-use: AddressPool a: is deleted, and 2 blocks of it are there, as a-1 of node n1: no "
        "other is given any more\n");
}

static void finalizers_of_others_are_named(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_deleted(&planning, POOL("a", "coil.cybozu.com, example.com/hold"), 60000);
    assert_held(
        &planning, KIND_ADDRESS_POOL, INT64_MAX,
        "deleted-pool-kept: AddressPool a: is deleted, and finalizer example.com/hold keeps it: no block of it "
        "is given any more\n");
    put_deleted(&planning,
                COIL "kind: Egress\nmetadata: {name: nat, namespace: net, finalizers: [x.io/y]}\n"
                     "spec: {destinations: [0.0.0.0/0]}\n",
                60000);
    assert_held(
        &planning, KIND_EGRESS, INT64_MAX,
        "deleted-egress-kept: Egress net/nat: is deleted, and finalizer x.io/y keeps it: what it has made "
        "stays\n");
}

static void a_block_that_is_kept_is_not_free(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_deleted(&planning,
                COIL "kind: AddressBlock\nmetadata: {name: a-1, finalizers: [x.io/y], labels: "
                     "{coil.cybozu.com/pool: a, coil.cybozu.com/node: n1}}\nindex: 1\nipv4: "
                     "10.2.0.0/27\n",
                60000);
    AUTOFAULTS struct faults faults = { 0 };
    (void)held_faults(planning.store, KIND_ADDRESS_BLOCK, NOW_MS, &faults);
    assert_raised(&faults, "deleted-block-kept at AddressBlock a-1\n");
    assert_string_equal(faults.list.items[0].remedy,
                        "if whoever set it is gone, take x.io/y, and no other, out of "
                        "metadata.finalizers: kubectl edit AddressBlock a-1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_waits_for_its_blocks),
        cmocka_unit_test(finalizers_of_others_are_named),
        cmocka_unit_test(a_block_that_is_kept_is_not_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
