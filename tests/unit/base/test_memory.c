// SPDX-License-Identifier: Apache-2.0
/* What grows, when memory runs out: each operation happens whole or not at all, and says so. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/files/file.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmocka_all.h"
#include "failing_heap.h"

/* Three chunks' worth. */
static int fill_arena(struct arena **ret_arena)
{
    struct arena *arena = arena_new(64);
    if (!arena)
        return -ENOMEM;
    bool whole = arena_alloc(arena, 60) && arena_alloc_array(arena, 10, 20) &&
                 arena_strdup(arena, "some words") && arena_strndup(arena, "cut here", 3) &&
                 arena_alloc(arena, 4000);
    if (!whole) {
        arena_free(arena);
        return -ENOMEM;
    }
    *ret_arena = arena;
    return 0;
}

static void arenas(void **state)
{
    (void)state;
    int failures = 0;
    for (int n = 0;; n++) {
        AUTOARENA struct arena *arena = NULL;
        int r = with_heap(n, fill_arena(&arena));
        assert_int_equal(r, heap_missed ? -ENOMEM : 0);
        if (!heap_missed)
            break;
        failures++;
    }
    assert_true(failures >= 3);
}

/* A failed allocation leaves what was there, and the arena usable. */
static void an_arena_survives(void **state)
{
    (void)state;
    AUTOARENA struct arena *arena = arena_new(32);
    char *words = arena_strdup(arena, "words");
    void *more = with_heap(0, arena_alloc(arena, 100000));
    assert_null(more);
    assert_string_equal(words, "words");
    assert_non_null(arena_alloc(arena, 100000));
    assert_null(arena_alloc_array(arena, SIZE_MAX / 2, 4));
}

static int write_text(struct text *text)
{
    for (int i = 0; i < 30; i++) {
        text_add(text, "line ");
        text_addf(text, "%d of %s", i, "thirty");
        text_add_char(text, '\n');
    }
    return text_error(text);
}

static void texts(void **state)
{
    (void)state;
    AUTOTEXT struct text good = { 0 };
    assert_int_equal(write_text(&good), 0);
    int failures = 0;
    for (int n = 0;; n++) {
        AUTOTEXT struct text text = { 0 };
        int r = with_heap(n, write_text(&text));
        if (!heap_missed) {
            assert_int_equal(r, 0);
            assert_string_equal(text_str(&text), text_str(&good));
            break;
        }
        failures++;
        assert_int_equal(r, -ENOMEM);
        assert_null(text_take(&text));
        assert_int_equal(text_error(&text), 0); /* taken: begun anew */
        assert_int_equal(write_text(&text), 0);
        assert_string_equal(text_str(&text), text_str(&good));
    }
    assert_true(failures >= 3);
    assert_null(with_heap(0, text_format("%s", "x")));
}

static void vectors(void **state)
{
    (void)state;
    VEC(int) numbers = { 0 };
    for (int i = 0; i < 1000; i++) {
        int r = with_heap(0, vec_push(&numbers, i));
        if (r < 0) {
            assert_int_equal(r, -ENOMEM);
            assert_int_equal(numbers.count, i);
            assert_int_equal(vec_push(&numbers, i), 0);
        }
    }
    assert_int_equal(with_heap(0, vec_reserve(&numbers, 100000)), -ENOMEM);
    assert_int_equal(vec_reserve(&numbers, SIZE_MAX / 2), -ENOMEM);
    assert_int_equal(numbers.count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers.items[i], i);
    vec_done(&numbers);
}

static int int_cmp(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void fill(struct sorted *table)
{
    *table = (struct sorted)SORTED(int, int_cmp);
    for (int i = 0; i < 8; i++)
        assert_int_equal(sorted_put(table, &(int){ 2 * i }), 0);
}

static int merge(struct sorted *table)
{
    static const int items[] = { 7, 0, 4, 3, 9, 11, 13, 15, 17, 5, 1, 7 };
    struct sorted_change changes[ARRAY_SIZE(items)];
    for (size_t i = 0; i < ARRAY_SIZE(items); i++)
        changes[i] = (struct sorted_change){ &items[i], items[i] % 4 == 0 };
    return sorted_merge(table, changes, ARRAY_SIZE(items));
}

static void sorted_tables(void **state)
{
    (void)state;
    int failures = 0;
    for (int n = 0;; n++) {
        struct sorted table, before;
        fill(&table);
        fill(&before);
        int r = with_heap(n, merge(&table));
        if (!heap_missed) {
            assert_int_equal(r, 0);
            assert_int_equal(table.count, 8 - 2 + 9);
        } else {
            failures++;
            assert_int_equal(r, -ENOMEM);
            assert_int_equal(table.count, before.count);
            assert_memory_equal(table.items, before.items, before.count * before.size);
        }
        sorted_done(&table);
        sorted_done(&before);
        if (!heap_missed)
            break;
    }
    assert_true(failures >= 3);
}

static int add_fault(struct faults *faults)
{
    faults_add(faults, "web.yaml:1:2", "do this", "%s is wrong, and told at some length: %d",
               "something", 7);
    return 0;
}

static void faults(void **state)
{
    (void)state;
    int failures = 0;
    for (int n = 0;; n++) {
        AUTOFAULTS struct faults faults = { 0 };
        (void)with_heap(n, add_fault(&faults));
        assert_int_equal(faults.list.count, heap_missed ? 0 : 1);
        assert_int_equal(faults.incomplete, heap_missed);
        assert_false(faults_none(&faults));
        if (!heap_missed)
            break;
        failures++;
    }
    assert_true(failures >= 4);
}

static void files(void **state)
{
    (void)state;
    AUTOCLOSE int fd = memfd_create("test", MFD_CLOEXEC);
    char path[40], block[1000];
    memset(block, 'x', sizeof(block));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (int i = 0; i < 50; i++)
        assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
    int failures = 0;
    for (int n = 0;; n++) {
        AUTOFREE char *content = NULL;
        size_t size = 7;
        int r = with_heap(n, file_read(path, 100000, &content, &size));
        if (!heap_missed) {
            assert_int_equal(r, 0);
            assert_int_equal(size, 50000);
            break;
        }
        failures++;
        assert_int_equal(r, -ENOMEM);
        assert_null(content);
        assert_int_equal(size, 7);
    }
    assert_true(failures >= 2);
}

static void folders(void **state)
{
    (void)state;
    char base[] = "/tmp/fingerpost-test-XXXXXX";
    assert_non_null(mkdtemp(base));
    AUTOFREE char *path = text_format("%s/a/b", base), *parent = text_format("%s/a", base);
    for (int n = 0;; n++) {
        int r = with_heap(n, dir_make(path));
        if (!heap_missed) {
            assert_int_equal(r, 0);
            break;
        }
        assert_int_equal(r, -ENOMEM);
    }
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(rmdir(base), 0);
}

/* What can't be kept is said to be missing. */
static void faults_move_or_are_missed(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        AUTOFAULTS struct faults to = { 0 }, from = { 0 };
        faults_add(&from, "a", "do", "one");
        faults_add(&from, "b", NULL, "two");
        with_heap(n, (faults_take(&to, &from), 0));
        assert_true(faults_none(&from));
        assert_int_equal(to.incomplete, n == 0);
        assert_int_equal(to.list.count, n == 0 ? 0 : 2);
        if (n)
            assert_string_equal(to.list.items[1].message, "two");
        from.incomplete = true;
        faults_take(&to, &from);
        assert_true(to.incomplete && faults_none(&from));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arenas),
        cmocka_unit_test(an_arena_survives),
        cmocka_unit_test(texts),
        cmocka_unit_test(vectors),
        cmocka_unit_test(sorted_tables),
        cmocka_unit_test(faults),
        cmocka_unit_test(files),
        cmocka_unit_test(folders),
        cmocka_unit_test(faults_move_or_are_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
