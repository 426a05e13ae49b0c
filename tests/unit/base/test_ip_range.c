// SPDX-License-Identifier: Apache-2.0
/* Ranges of addresses: what is one, its size, and steps from address to address. */
#include "base/net/ip_range.h"

#include <errno.h>

#include "base/macro.h"
#include "cmocka_all.h"

static struct ip_range range_of(const char *text)
{
    struct ip_range range;
    if (ip_range_parse(text, &range) < 0)
        fail_msg("%s is no range", text);
    return range;
}

/* Longer than any range, by blanks. */
#define BLANKS "                                                                "

static void reads_what_pools_have(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
        int r;
        uint64_t size;
    } cases[] = {
        { "192.0.2.0/28", "192.0.2.0-192.0.2.15", 0, 16 },
        { "192.0.2.7/28", "192.0.2.0-192.0.2.15", 1, 16 },
        { "192.0.2.7", "192.0.2.7", 0, 1 },
        { "192.0.2.7/32", "192.0.2.7", 0, 1 },
        { " 192.0.2.250 - 192.0.3.4 ", "192.0.2.250-192.0.3.4", 0, 11 },
        { "192.0.2.1-192.0.2.1", "192.0.2.1", 0, 1 },
        { "0.0.0.0/0", "0.0.0.0-255.255.255.255", 0, UINT64_C(1) << 32 },
        { "fd00::/120", "fd00::-fd00::ff", 0, 256 },
        { "fd00::/64", "fd00::-fd00::ffff:ffff:ffff:ffff", 0, UINT64_MAX },
        { "fd00::ffff:ffff:ffff:ffff-fd00:0:0:1::", "fd00::ffff:ffff:ffff:ffff-fd00:0:0:1::", 0,
          2 },
        { "fd00::1-fd00:0:0:1::1", "fd00::1-fd00:0:0:1::1", 0, UINT64_MAX },
        { "fd00::1-fd00::ffff:ffff:ffff:ffff", "fd00::1-fd00::ffff:ffff:ffff:ffff", 0, UINT64_MAX },
        { "fd00::2-fd00::ffff:ffff:ffff:ffff", "fd00::2-fd00::ffff:ffff:ffff:ffff", 0,
          UINT64_MAX - 1 },
        { "::/0", "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 0, UINT64_MAX },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char buffer[IP_RANGE_STRLEN];
        struct ip_range range;
        assert_int_equal(ip_range_parse(cases[i].text, &range), cases[i].r);
        assert_string_equal(ip_range_str(&range, buffer), cases[i].expected);
        assert_true(ip_range_size(&range) == cases[i].size);
    }
}

static void refuses_what_is_none(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "-",
        " ",
        "192.0.2.0/33",
        "192.0.2.9-192.0.2.8",
        "192.0.2.1-fd00::1",
        "192.0.2.1-",
        "-192.0.2.1",
        "192.0.2.1-192.0.2.2-192.0.2.3",
        "192.0.2.0/24-192.0.2.9",
        "192.0.2.1-9",
        ("192.0.2.1" BLANKS BLANKS),
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ip_range range;
        assert_int_equal(ip_range_parse(cases[i], &range), -EINVAL);
    }
}

static void knows_what_is_inside(void **state)
{
    (void)state;
    struct ip_range range = range_of("192.0.2.10-192.0.2.20"), other = range_of("192.0.2.20/30");
    struct ip ip;
    static const struct {
        const char *ip;
        bool inside;
    } cases[] = { { "192.0.2.9", false },
                  { "192.0.2.10", true },
                  { "192.0.2.20", true },
                  { "192.0.2.21", false },
                  { "::", false } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(ip_parse(cases[i].ip, &ip), 0);
        assert_int_equal(ip_range_contains(&range, &ip), cases[i].inside);
    }
    assert_true(ip_range_overlaps(&range, &other));
    other = range_of("192.0.2.21-192.0.2.22");
    assert_false(ip_range_overlaps(&range, &other));
    assert_false(ip_range_overlaps(&other, &range));
}

static void special_ones_are_found_in_the_middle(void **state)
{
    (void)state;
    static const char *const special[] = { "0.0.0.0/0",    "120.0.0.0-130.0.0.0", "::/0",
                                           "fe00::/8",     "10.0.0.0-240.0.0.1",  "127.0.0.1/32",
                                           "fec0::-ff00::" };
    static const char *const good[] = { "10.0.0.0/8", "128.0.0.0-169.253.255.255", "fd00::/8",
                                        "::2-fe7f:ffff::", "223.255.255.255" };
    for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
        struct ip_range range = range_of(special[i]);
        assert_true(ip_range_is_special(&range));
    }
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct ip_range range = range_of(good[i]);
        assert_false(ip_range_is_special(&range));
    }
}

static void steps_carry_over_and_end(void **state)
{
    (void)state;
    static const char *const pairs[][2] = { { "192.0.2.255", "192.0.3.0" },
                                            { "10.255.255.255", "11.0.0.0" },
                                            { "fd00::ffff", "fd00::1:0" } };
    struct ip low, high, ip;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        assert_int_equal(ip_parse(pairs[i][0], &low), 0);
        assert_int_equal(ip_parse(pairs[i][1], &high), 0);
        assert_true(ip_next(&low, &ip) && ip_equal(&ip, &high));
        assert_true(ip_before(&high, &ip) && ip_equal(&ip, &low));
    }
    assert_int_equal(ip_parse("255.255.255.255", &high), 0);
    assert_int_equal(ip_parse("0.0.0.0", &low), 0);
    ip = high;
    assert_false(ip_next(&high, &ip));
    assert_false(ip_before(&low, &ip));
    assert_true(ip_equal(&ip, &high));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pools_have),
        cmocka_unit_test(refuses_what_is_none),
        cmocka_unit_test(knows_what_is_inside),
        cmocka_unit_test(special_ones_are_found_in_the_middle),
        cmocka_unit_test(steps_carry_over_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
