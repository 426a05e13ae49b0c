// SPDX-License-Identifier: Apache-2.0
/* The copy when memory runs out: at each allocation once. */
#include "copies.h"
#include "failing_heap.h"

const char *__lsan_default_suppressions(void);

/* json-c 0.16 loses a value that it has made but finds no memory to put into its container. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libjson-c.so";
}

/* A copy is written whole, or the old one stays. */
static void writing(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    const struct copy_head head = { 0 };
    put_generation(copies->store, 3, 1);
    assert_int_equal(copy_whole(copies, &head), 0);
    put_generation(copies->store, 3, 2);
    for (int n = 0;; n++) {
        int r = with_heap(n, copy_whole(copies, &head));
        bool missed = heap_missed;
        AUTOLOADED struct loaded loaded = load(copies);
        assert_int_equal(loaded.r, 1);
        const struct object *object = store_get(loaded.store, KIND_ENDPOINT_SLICE, "n", "web-2");
        assert_int_equal(to_endpoint_slice(object)->ports[0].port, r == 0 ? 2 : 1);
        if (!missed) {
            assert_int_equal(r, 0);
            assert_true(n > 5);
            break;
        }
        assert_int_equal(r, -ENOMEM);
    }
}

static void reading(void **state)
{
    (void)state;
    AUTOCOPIES struct copies *copies = copies_new();
    put_generation(copies->store, 3, 1);
    assert_int_equal(copy_whole(copies, &(struct copy_head){ 0 }), 0);
    for (int n = 0;; n++) {
        AUTOFAULTS struct faults faults = { 0 };
        struct copy_head head;
        struct store *store = store_new();
        int r = with_heap(n, copy_load(copies->path, &copy_of_n1, "api", store, &head, &faults));
        size_t count = store_count(store, KIND_ENDPOINT_SLICE);
        store_free(store);
        assert_true(r == 1 || r == -ENOMEM);
        assert_true(r < 0 || count == 3);
        if (!heap_missed) {
            assert_int_equal(r, 1);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing),
        cmocka_unit_test(reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
