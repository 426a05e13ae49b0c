// SPDX-License-Identifier: Apache-2.0
/*
 * Owning locals: each is freed once, whether its function fails, succeeds or hands it over. What is
 * freed twice or not at all is the address sanitizer's to find; the values are compared here.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/net/ip.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "cmocka_all.h"

typedef VEC(char *) word_list;

static unsigned words_freed;

/* A list whose items own something, as its module would write it. */
static void word_list_done(word_list *list)
{
    vec_each(char *, word, list) {
        words_freed++;
        free(*word);
    }
    vec_done(list);
}

/* Fails at `fails_at`, with what it has made so far still in its hands. */
static int list_ips(uint8_t count, uint8_t fails_at, ip_list *ret_ips)
{
    AUTOVEC ip_list ips = { 0 };
    for (uint8_t i = 0; i < count; i++) {
        if (i == fails_at)
            return -EIO;
        int r = vec_push(&ips, (struct ip){ IP_V4, { 192, 0, 2, i } });
        if (r < 0)
            return r;
    }
    *ret_ips = TAKE_STRUCT(ips);
    return 0;
}

static void a_vector_is_freed_or_handed_over(void **state)
{
    (void)state;
    AUTOVEC ip_list ips = { 0 };
    assert_int_equal(list_ips(9, 5, &ips), -EIO);
    assert_null(ips.items);
    assert_int_equal(list_ips(9, 9, &ips), 0);
    assert_int_equal(ips.count, 9);
    assert_int_equal(ips.items[8].bytes[3], 8);
}

static void a_vector_of_no_named_type_moves(void **state)
{
    (void)state;
    AUTOVEC VEC(int) from = { 0 };
    AUTOVEC VEC(int) to = { 0 };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vec_push(&from, i), 0);
        assert_int_equal(vec_push(&to, 100 + i), 0);
    }
    const int *items = from.items;
    vec_move(&to, &from);
    assert_ptr_equal(to.items, items);
    assert_int_equal(to.count, 3);
    assert_null(from.items);
    assert_int_equal(from.count + from.capacity, 0);

    /* Both are usable afterwards. */
    assert_int_equal(vec_push(&from, 7), 0);
    assert_int_equal(vec_push(&to, 3), 0);
    assert_int_equal(from.items[0], 7);
    for (int i = 0; i < 4; i++)
        assert_int_equal(to.items[i], i);
}

static int list_words(bool fail, word_list *ret_words)
{
    CLEANUP(word_list_done) word_list words = { 0 };
    for (int i = 0; i < 4; i++) {
        AUTOFREE char *word = strdup("word");
        if (!word || vec_push(&words, word) < 0)
            return -ENOMEM;
        (void)TAKE_PTR(word);
    }
    if (fail)
        return -EIO;
    *ret_words = TAKE_STRUCT(words);
    return 0;
}

static void a_list_that_owns_its_items_frees_them_once(void **state)
{
    (void)state;
    words_freed = 0;
    {
        CLEANUP(word_list_done) word_list words = { 0 };
        assert_int_equal(list_words(true, &words), -EIO);
        assert_int_equal(words_freed, 4);
        assert_int_equal(list_words(false, &words), 0);
        assert_int_equal(words_freed, 4);
        assert_string_equal(words.items[3], "word");
    }
    assert_int_equal(words_freed, 8);
}

static int int_cmp(const void *a, const void *b)
{
    return CMP(*(const int *)a, *(const int *)b);
}

static int sort_numbers(int fails_at, struct sorted *ret_table)
{
    AUTOSORTED struct sorted table = SORTED(int, int_cmp);
    for (int i = 9; i > 0; i--) {
        if (i == fails_at)
            return -EIO;
        int r = sorted_put(&table, &i);
        if (r < 0)
            return r;
    }
    *ret_table = TAKE_STRUCT(table);
    return 0;
}

static void a_sorted_array_is_freed_or_handed_over(void **state)
{
    (void)state;
    AUTOSORTED struct sorted table = { 0 };
    assert_int_equal(sort_numbers(4, &table), -EIO);
    assert_null(table.items);
    assert_int_equal(sort_numbers(0, &table), 0);
    assert_int_equal(table.count, 9);
    assert_int_equal(*(int *)sorted_at(&table, 0), 1);
    assert_int_equal(*(int *)sorted_find(&table, &(int){ 9 }), 9);
}

static void vectors_append_and_sorted_arrays_move(void **state)
{
    (void)state;
    AUTOVEC ip_list few = { 0 }, many = { 0 };
    assert_int_equal(vec_append(&many, &few), 0); /* nothing to nothing */
    assert_int_equal(vec_push(&few, (struct ip){ IP_V4, { 192, 0, 2, 1 } }), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(vec_append(&many, &few), 0);
    assert_int_equal(many.count, 20);
    assert_int_equal(many.items[19].bytes[3], 1);

    AUTOSORTED struct sorted from = { 0 }, to = { 0 };
    assert_int_equal(sort_numbers(0, &from), 0);
    assert_int_equal(sort_numbers(0, &to), 0);
    sorted_move(&to, &from);
    assert_int_equal(to.count, 9);
    assert_int_equal(from.count, 0);
    assert_int_equal(sorted_put(&from, &(int){ 3 }), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vector_is_freed_or_handed_over),
        cmocka_unit_test(a_vector_of_no_named_type_moves),
        cmocka_unit_test(a_list_that_owns_its_items_frees_them_once),
        cmocka_unit_test(a_sorted_array_is_freed_or_handed_over),
        cmocka_unit_test(vectors_append_and_sorted_arrays_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
