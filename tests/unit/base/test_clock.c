// SPDX-License-Identifier: Apache-2.0
/* Durations and RFC 3339 times. */
#include <errno.h>

#include "base/clock.h"
#include "base/macro.h"
#include "cmocka_all.h"

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
        int r;
    } cases[] = {
        { "0", 0, 0 },           { "250ms", 250, 0 },  { "10s", 10000, 0 },
        { "1m30s", 90000, 0 },   { "2h", 7200000, 0 }, { "", 0, -EINVAL },
        { "10", 0, -EINVAL },    { "s", 0, -EINVAL },  { "-1s", 0, -EINVAL },
        { "1.5s", 0, -EINVAL },  { "1d", 0, -EINVAL }, { "99999999h", 0, -ERANGE },
        { "8761h", 0, -ERANGE },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t ms = -1;
        assert_int_equal(clock_parse_duration(cases[i].text, &ms), cases[i].r);
        assert_int_equal(ms, cases[i].r ? -1 : cases[i].ms);
    }
}

static void times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
        int r;
    } cases[] = {
        { "1970-01-01T00:00:00Z", 0, 0 },
        { "2026-11-20T07:33:00Z", INT64_C(1795159980000), 0 },
        { "2026-11-20T07:33:00.25Z", INT64_C(1795159980250), 0 },
        { "2026-11-20T08:33:00+01:00", INT64_C(1795159980000), 0 },
        { "0000-01-01T00:00:00Z", INT64_C(-62167219200000), 0 },
        { "9999-12-31T23:59:59.999Z", INT64_C(253402300799999), 0 },
        { "0000-01-01T00:00:00+00:01", 0, -EINVAL },
        { "9999-12-31T23:59:59-00:01", 0, -EINVAL },
        { "2026-11-20", 0, -EINVAL },
        { "2026-11-20T07:33:00", 0, -EINVAL },
        { "2026-11-20T07:33:00Zx", 0, -EINVAL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t ms = -1;
        assert_int_equal(clock_parse_rfc3339(cases[i].text, &ms), cases[i].r);
        if (cases[i].r == 0)
            assert_int_equal(ms, cases[i].ms);
    }
    char text[CLOCK_STRLEN];
    assert_string_equal(clock_rfc3339(INT64_C(1795159980250), text), "2026-11-20T07:33:00Z");
    assert_string_equal(clock_rfc3339(INT64_C(-30641760000000), text), "0999-01-01T00:00:00Z");
    assert_string_equal(clock_rfc3339_ms(INT64_C(1795159980250), text), "2026-11-20T07:33:00.250Z");
    assert_string_equal(clock_rfc3339_ms(INT64_C(1795159980003), text), "2026-11-20T07:33:00.003Z");
}

static void ago(void **state)
{
    (void)state;
    char text[CLOCK_STRLEN];
    assert_string_equal(clock_ago(850, text), "850ms");
    assert_string_equal(clock_ago(41500, text), "41s");
    assert_string_equal(clock_ago(240000, text), "4m");
    assert_string_equal(clock_ago(INT64_C(11520000), text), "3h 12m");
    assert_string_equal(clock_ago(INT64_C(273600000), text), "3d 4h");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(durations), cmocka_unit_test(times),
                                        cmocka_unit_test(ago) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
