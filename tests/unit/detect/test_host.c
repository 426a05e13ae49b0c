// SPDX-License-Identifier: Apache-2.0
/* The rows of all tables of detectors, and what those about the host find. */
#include <string.h>

#include "found.h"

static void a_row_is_whole(const struct detector *row)
{
    assert_ptr_equal(detector_find(row->name), row); /* no other row has its name */
    assert_non_null(row->subsystem);
    assert_non_null(row->group);
    assert_non_null(row->codes[0]);
    assert_null(row->codes[DETECTOR_CODES - 1]);
    assert_true(row->facts != 0);
    assert_true(row->period_ms >= 0 && row->period_ms % DETECTORS_PERIOD_MS == 0);
    assert_int_equal(row->period_ms == 0, row->facts == FACT_BIRD);
    assert_true(row->hold_ms >= 0 && row->linger_ms >= 0);
    assert_non_null(row->detect);
}

static void rows_are_whole(void **state)
{
    size_t rows = 0;
    (void)state;
    for (const struct detector *const *table = detector_tables; *table; table++)
        for (const struct detector *row = *table; row->name; row++, rows++)
            a_row_is_whole(row);
    assert_true(rows > 0);
    assert_null(detector_find("no such"));
}

static void tracking_is_nearly_full_from_nine_tenths_on(void **state)
{
    static const char full[] = "nat-tracking-full at net.netfilter.nf_conntrack_max\n";
    struct detector_facts facts = { 0 };
    (void)state;
    assert_found("tracking", &facts, "");
    facts.tracking = (struct tracking_facts){ .known = true, .count = 899, .most = 1000 };
    assert_found("tracking", &facts, "");
    facts.tracking.count = 900;
    assert_found("tracking", &facts, full);
    facts.tracking = (struct tracking_facts){ .known = true, .count = 44, .most = 49 };
    assert_found("tracking", &facts, "");
    facts.tracking.count = INT64_C(1) << 62;
    facts.tracking.most = INT64_C(1) << 62;
    assert_found("tracking", &facts, full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(tracking_is_nearly_full_from_nine_tenths_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
