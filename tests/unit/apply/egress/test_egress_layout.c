// SPDX-License-Identifier: Apache-2.0
/* Where the addresses of a gateway stand, and what becomes of blocks when they change. */
#include "apply/egress/gateway/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void place(struct egress_layout *layout, const char *words)
{
    struct ip wanted[EGRESS_SOURCES_MAX] = { 0 };
    char copy[256];
    int count = 0;
    strcpy(copy, words);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        assert_int_equal(ip_parse(word, &wanted[count++]), 0);
    egress_layout_place(layout, 0, wanted);
}

static void assert_places(const struct egress_layout *layout, const char *wanted)
{
    char found[256] = "", text[IP_STRLEN];
    for (uint32_t i = 0; i < layout->used[0]; i++) {
        const struct ip *address = &layout->sources[0][i];
        strcat(found, i ? " " : "");
        strcat(found, address->family == IP_NONE ? "-" : ip_str(address, text));
    }
    assert_string_equal(found, wanted);
}

static void an_address_keeps_its_place(void **state)
{
    (void)state;
    struct egress_layout layout = { .first_port = 1000, .block_size = 8, .address_blocks = 10 };
    place(&layout, "192.0.2.1 192.0.2.2 192.0.2.3");
    assert_places(&layout, "192.0.2.1 192.0.2.2 192.0.2.3");
    assert_int_equal(egress_layout_blocks(&layout), 30);
    place(&layout, "192.0.2.3 192.0.2.2");
    assert_places(&layout, "- 192.0.2.2 192.0.2.3");
    assert_int_equal(egress_layout_blocks(&layout), 20);
    place(&layout, "192.0.2.2 192.0.2.9 192.0.2.8");
    assert_places(&layout, "192.0.2.9 192.0.2.2 192.0.2.8");
    place(&layout, "192.0.2.9 192.0.2.9");
    assert_places(&layout, "192.0.2.9");
}

static void no_address_for_a_moment(void **state)
{
    (void)state;
    struct egress_layout layout = { .address_blocks = 10 };
    place(&layout, "192.0.2.1 192.0.2.2");
    const struct egress_layout before = layout;
    place(&layout, "");
    assert_int_equal(layout.used[0], 0);
    assert_false(egress_layout_differs(&layout, &before, 0, 15));
    place(&layout, "192.0.2.2 192.0.2.1");
    assert_places(&layout, "192.0.2.1 192.0.2.2");
}

static void a_block_is_another_one(void **state)
{
    (void)state;
    struct egress_layout layout = { .first_port = 1000, .block_size = 8, .address_blocks = 10 };
    place(&layout, "192.0.2.1 192.0.2.2");
    const struct egress_layout before = layout;
    char text[IP_STRLEN];
    const struct ip second = egress_layout_address(&layout, 0, 19);
    assert_string_equal(ip_str(&second, text), "192.0.2.2");
    assert_int_equal(egress_layout_address(&layout, 0, 20).family, IP_NONE);
    assert_int_equal(egress_layout_address(&layout, 1, 5).family, IP_NONE);
    place(&layout, "192.0.2.1");
    assert_false(egress_layout_differs(&layout, &before, 0, 9));
    assert_true(egress_layout_differs(&layout, &before, 0, 10));
    assert_false(egress_layout_differs(&layout, &before, 1, 10));
    layout.first_port++;
    assert_true(egress_layout_differs(&layout, &before, 0, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_keeps_its_place),
        cmocka_unit_test(no_address_for_a_moment),
        cmocka_unit_test(a_block_is_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
