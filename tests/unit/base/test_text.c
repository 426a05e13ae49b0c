// SPDX-License-Identifier: Apache-2.0
/* Growing text, fault lists and arenas. */
#include <string.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/text.h"
#include "cmocka_all.h"

static void text_grows(void **state)
{
    (void)state;
    struct text text = { 0 };
    assert_string_equal(text_str(&text), "");
    for (int i = 0; i < 1000; i++)
        text_addf(&text, "%d,", i);
    text_add_char(&text, '.');
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4 + 1);
    text_truncate(&text, 4);
    assert_string_equal(text_str(&text), "0,1,");
    char *taken = text_take(&text);
    assert_string_equal(taken, "0,1,");
    free(taken);
    assert_null(text.data);
}

static void counts_have_the_noun_in_its_number(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    static const char *const nouns[] = { "fault", "address", "prefix" };
    for (int64_t count = 0; count <= 2; count++) {
        for (size_t i = 0; i < 3; i++) {
            text_add_count(&text, count, nouns[i]);
            text_add_char(&text, ',');
        }
    }
    assert_string_equal(text_str(&text), "0 faults,0 addresses,0 prefixes,1 fault,1 address,"
                                         "1 prefix,2 faults,2 addresses,2 prefixes,");
}

static void faults_collect(void **state)
{
    (void)state;
    struct faults faults = { 0 };
    assert_true(faults_none(&faults));
    faults_add(&faults, "a.yaml:1:2", NULL, "port %d is out of range", 70000);
    faults_add(&faults, "b.yaml", "mend it", "broken");
    assert_int_equal(faults.list.count, 2);
    assert_string_equal(faults.list.items[0].message, "port 70000 is out of range");
    assert_string_equal(faults.list.items[1].remedy, "mend it");
    faults_done(&faults);
    assert_true(faults_none(&faults));
}

static void arena_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct arena *arena = arena_new(16);
    for (size_t size = 1; size < 5000; size = size * 3 / 2 + 1) {
        unsigned char *bytes = arena_alloc(arena, size);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, size);
    }
    assert_null(arena_alloc_array(arena, SIZE_MAX / 2, 16));
    assert_string_equal(arena_strndup(arena, "hello", 4), "hell");
    arena_free(arena);
}

static void distance(void **state)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        { "table", "table", 0 }, { "tabel", "table", 1 },    { "atble", "table", 1 },
        { "tble", "table", 1 },  { "tcp", "udp", 2 },        { "", "udp", 3 },
        { "udp", "", 3 },        { "uplnik", "uplinks", 2 }, { "ca", "abc", 3 },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(text_distance(cases[i].a, cases[i].b), cases[i].distance);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(text_grows),
                                        cmocka_unit_test(counts_have_the_noun_in_its_number),
                                        cmocka_unit_test(faults_collect),
                                        cmocka_unit_test(arena_is_zeroed_and_aligned),
                                        cmocka_unit_test(distance) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
