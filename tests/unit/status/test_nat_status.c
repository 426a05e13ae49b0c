// SPDX-License-Identifier: Apache-2.0
/* Words, histograms, and totals that never fall. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "failing_malloc.h"
#include "status/nat_status.h"

static void test_every_word_is_another(void **state)
{
    (void)state;
    for (enum nat_cause a = 0; a < NAT_CAUSE_COUNT; a++) {
        assert_true(*nat_cause_name(a) && *nat_cause_text(a));
        assert_int_equal(strspn(nat_cause_name(a), "abcdefghijklmnopqrstuvwxyz-"),
                         strlen(nat_cause_name(a)));
        for (enum nat_cause b = 0; b < a; b++)
            assert_string_not_equal(nat_cause_name(a), nat_cause_name(b));
    }
    for (enum nat_hook a = 0; a < NAT_HOOKS; a++)
        for (enum nat_hook b = 0; b < a; b++)
            assert_string_not_equal(nat_hook_name(a), nat_hook_name(b));
    assert_string_equal(nat_cause_name(NAT_CAUSE_NO_LOCAL), "no-local-endpoints");
    assert_string_equal(nat_act_name(NAT_ACT_REJECT), "reject");
    assert_string_equal(nat_frontend_kind_name(NAT_FRONTEND_LOAD_BALANCER), "loadBalancer");
    assert_string_equal(nat_origin_name(NAT_ORIGIN_OUTSIDE), "outside");
    assert_string_equal(nat_hook_name(NAT_HOOK_LO_OUT), "lo-out");
}

/* As a newer program's maps may say. */
static void test_words_for_what_is_not_known(void **state)
{
    (void)state;
    assert_string_equal(nat_cause_name(NAT_CAUSE_COUNT), "unknown");
    assert_string_equal(nat_act_name((enum nat_act)4), "unknown");
    assert_string_equal(nat_frontend_kind_name(NAT_FRONTEND_REFUSED), "unknown");
    assert_string_equal(nat_origin_name(NAT_ORIGINS), "unknown");
    assert_string_equal(nat_hook_name(NAT_HOOKS), "unknown");
}

/* A bound belongs to the bucket below it. */
static void test_buckets(void **state)
{
    static const struct {
        int64_t us;
        size_t bucket;
    } cases[] = {
        { -5, 0 },   { 0, 0 },         { 1000, 0 },      { 1001, 1 },
        { 2000, 1 }, { 16384000, 14 }, { 16384001, 15 }, { INT64_C(1) << 60, 15 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct histogram histogram = { 0 };
        histogram_add(&histogram, &histogram_sync, cases[i].us);
        assert_int_equal(histogram.counts[cases[i].bucket], 1);
        assert_int_equal(histogram.sum_us, cases[i].us < 0 ? 0 : cases[i].us);
    }
}

static void test_bounds_ascend(void **state)
{
    static const struct histogram_scale *const scales[] = { &histogram_sync,
                                                            &histogram_programming };

    (void)state;
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 1; i < scales[s]->count; i++)
            assert_true(scales[s]->bounds_ms[i - 1] < scales[s]->bounds_ms[i]);
    assert_int_equal(histogram_programming.bounds_ms[79], 300000);
    assert_int_equal(histogram_programming.bounds_ms[61], 60000);
}

static void add(nat_refusal_list *list, uint32_t service, enum nat_cause cause, uint64_t count)
{
    const struct nat_refusal refusal = { .service = service, .cause = cause, .count = count };
    assert_int_equal(vec_push(list, refusal), 0);
}

static void expect(struct nat_tally *tally, const nat_refusal_list *now, uint64_t no_endpoints,
                   uint64_t invalid)
{
    assert_int_equal(nat_tally_add(tally, now), 0);
    assert_int_equal(tally->totals[NAT_CAUSE_NO_ENDPOINTS], no_endpoints);
    assert_int_equal(tally->totals[NAT_CAUSE_INVALID], invalid);
}

static void test_totals_never_fall(void **state)
{
    struct nat_status nat = { 0 };
    nat_refusal_list now = { 0 };

    (void)state;
    expect(&nat.refused, &now, 0, 0);
    add(&now, 7, NAT_CAUSE_NO_ENDPOINTS, 10);
    add(&now, 3, NAT_CAUSE_INVALID, 4);
    add(&now, 3, NAT_CAUSE_NO_ENDPOINTS, 5);
    expect(&nat.refused, &now, 15, 4);
    expect(&nat.refused, &now, 15, 4);
    now.items[0].count = 11; /* gains one */
    now.items[1].count = 1;  /* forgotten, and come again */
    expect(&nat.refused, &now, 16, 5);
    vec_clear(&now); /* all are gone, then one is back */
    expect(&nat.refused, &now, 16, 5);
    add(&now, 7, NAT_CAUSE_NO_ENDPOINTS, 11);
    add(&now, 7, NAT_CAUSE_COUNT, 3); /* of a newer program */
    expect(&nat.refused, &now, 27, 5);
    vec_done(&now);
    nat_status_done(&nat);
}

static void test_a_tally_without_memory_has_counted_nothing(void **state)
{
    struct nat_status nat = { 0 };
    nat_refusal_list now = { 0 };

    (void)state;
    add(&now, 3, NAT_CAUSE_INVALID, 4);
    allocations_left = 0;
    assert_int_equal(nat_tally_add(&nat.refused, &now), -ENOMEM);
    allocations_left = -1;
    assert_int_equal(nat.refused.totals[NAT_CAUSE_INVALID], 0);
    expect(&nat.refused, &now, 0, 4);
    vec_done(&now);
    nat_status_done(&nat);
}

static void test_passes(void **state)
{
    struct nat_status nat = { 0 };

    (void)state;
    nat_status_synced(&nat, true, 700, 1000);
    nat_status_synced(&nat, false, 800, 2000);
    assert_int_equal(nat.passes, 2);
    assert_int_equal(nat.full_passes, 1);
    assert_int_equal(nat.last_pass_wall_ms, 2000);
    assert_int_equal(nat.last_pass_us, 800);
    assert_int_equal(nat.last_full_pass_wall_ms, 1000);
    assert_int_equal(nat.last_full_pass_us, 700);
    assert_int_equal(nat.syncs.counts[0], 2);
    assert_int_equal(nat.full_syncs.counts[0], 1);
    assert_int_equal(nat.part_syncs.sum_us, 800);
    nat.maps[0].bytes = 5;
    nat.maps[1].bytes = 6;
    nat.map_count = 1;
    assert_int_equal(nat_status_bytes(&nat), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_word_is_another),
        cmocka_unit_test(test_words_for_what_is_not_known),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_bounds_ascend),
        cmocka_unit_test(test_totals_never_fall),
        cmocka_unit_test(test_a_tally_without_memory_has_counted_nothing),
        cmocka_unit_test(test_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
