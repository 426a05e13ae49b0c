// SPDX-License-Identifier: Apache-2.0
/* From the addresses that are there for a while to those that are wanted. */
#include "cmocka_all.h"
#include "plan/claims/kept_table.h"

enum { NOW = 1000000 };

/* As the kernel tells of it: so many whole seconds are left, rounded up. */
static int64_t left(int seconds)
{
    return NOW + (seconds - 1) * 1000;
}

static void put(struct sorted *table, uint32_t ifindex, const char *ip, int64_t until_ms)
{
    struct kept_address address = { .ifindex = ifindex, .until_ms = until_ms };
    assert_int_equal(ip_parse(ip, &address.ip), 0);
    assert_int_equal(sorted_put(table, &address), 0);
}

static void assert_op(const struct kept_op *op, enum kept_op_kind kind, uint32_t ifindex,
                      const char *ip, uint32_t lifetime_s)
{
    char text[IP_STRLEN];
    assert_int_equal(op->kind, kind);
    assert_int_equal(op->address.ifindex, ifindex);
    assert_string_equal(ip_str(&op->address.ip, text), ip);
    assert_int_equal(op->lifetime_s, lifetime_s);
}

static void what_differs_is_written_removals_first(void **state)
{
    (void)state;
    AUTOSORTED struct sorted there = SORTED(struct kept_address, kept_address_cmp);
    AUTOSORTED struct sorted wanted = SORTED(struct kept_address, kept_address_cmp);
    AUTOVEC kept_op_list ops = { 0 };
    put(&there, 2, "192.0.2.1", left(3));    /* wanted no more */
    put(&there, 2, "192.0.2.2", left(3));    /* to be renewed */
    put(&there, 2, "192.0.2.3", left(3));    /* as it is to be */
    put(&there, 2, "192.0.2.4", left(3));    /* its time is over */
    put(&there, 3, "192.0.2.5", left(3));    /* moves to another interface */
    put(&there, 2, "2001:db8::1", left(90)); /* there for too long */
    put(&wanted, 2, "192.0.2.2", NOW + 8900);
    put(&wanted, 2, "192.0.2.3", NOW + 3900);
    put(&wanted, 2, "192.0.2.4", NOW + 999);
    put(&wanted, 2, "192.0.2.5", NOW + 5000);
    put(&wanted, 2, "192.0.2.6", NOW - 5000);
    put(&wanted, 2, "2001:db8::1", NOW + 8999);
    assert_int_equal(kept_diff(&there, &wanted, NOW, &ops), 0);
    assert_int_equal(ops.count, 6);
    assert_op(&ops.items[0], KEPT_REMOVE, 2, "192.0.2.1", 0);
    assert_op(&ops.items[1], KEPT_REMOVE, 2, "192.0.2.4", 0);
    assert_op(&ops.items[2], KEPT_REMOVE, 3, "192.0.2.5", 0);
    assert_op(&ops.items[3], KEPT_RENEW, 2, "192.0.2.2", 8);
    assert_op(&ops.items[4], KEPT_ADD, 2, "192.0.2.5", 5);
    assert_op(&ops.items[5], KEPT_RENEW, 2, "2001:db8::1", 8);
}

/* Whatever the two are, what is written ends in time, and what is left alone does, too. */
static void nothing_lasts_longer_than_it_may(void **state)
{
    (void)state;
    for (int seconds = 0; seconds <= 12; seconds++) {
        for (int64_t until_ms = NOW - 2000; until_ms < NOW + 11000; until_ms += 37) {
            AUTOSORTED struct sorted there = SORTED(struct kept_address, kept_address_cmp);
            AUTOSORTED struct sorted wanted = SORTED(struct kept_address, kept_address_cmp);
            AUTOVEC kept_op_list ops = { 0 };
            if (seconds > 0)
                put(&there, 2, "192.0.2.1", left(seconds));
            put(&wanted, 2, "192.0.2.1", until_ms);
            assert_int_equal(kept_diff(&there, &wanted, NOW, &ops), 0);
            assert_true(ops.count <= 1);
            if (ops.count == 1 && ops.items[0].kind != KEPT_REMOVE)
                assert_true(NOW + ops.items[0].lifetime_s * INT64_C(1000) <= until_ms);
            else if (ops.count == 0 && seconds > 0)
                assert_true(left(seconds) <= until_ms);
            else if (ops.count == 0)
                assert_true(until_ms < NOW + 1000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_is_written_removals_first),
        cmocka_unit_test(nothing_lasts_longer_than_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
