// SPDX-License-Identifier: Apache-2.0
/*
 * A list and a watch for which memory is short: at every single allocation. The answer is given up,
 * what was known stays, and the same answer read again, with memory, brings all.
 */
#include <stdlib.h>
#include <string.h>

#include "kube_fixture.h"
#include "source/reflector.h"

#include "cmocka_all.h"
#include "failing_malloc.h"

enum { MOST_ALLOCATIONS = 100000 };

static void on_changed(void *context)
{
    (void)context;
}

static int read_one(struct reflector *reflector, enum json_part_kind kind, const char *text)
{
    struct json_part part = { .kind = kind, .text = text, .length = strlen(text) };
    return kind == JSON_WHOLE ? watch_part(reflector, &part) : list_part(reflector, &part);
}

static bool versions_come_last; /* as in lists of custom resources */

/* A list that replaces "old" by two others, one of which can't be read. */
static int read_list(struct reflector *reflector)
{
    reflector->framed = false;
    free(TAKE_PTR(reflector->continuation)); /* as after every failure */
    kube_objects_drop_held(&reflector->objects);
    list_begin(reflector);
    if (versions_come_last)
        kube_objects_hold(&reflector->objects);
    int r = read_one(reflector, JSON_ITEM, SERVICE("web", "2", "10.0.0.1"));
    if (r < 0)
        return r;
    r = read_one(reflector, JSON_ITEM,
                 "{\"metadata\":{\"name\":\"bad\",\"namespace\":\"d\"},\"spec\":5}");
    if (r < 0)
        return r;
    r = read_one(reflector, JSON_ITEM, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"d\"}");
    if (r < 0)
        return r;
    r = read_one(
        reflector, JSON_FRAME,
        "{\"kind\":\"ServiceList\",\"items\":[],\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"x\"}}");
    return r < 0 ? r : list_end(reflector);
}

static int read_watch(struct reflector *reflector)
{
    int r = read_one(reflector, JSON_WHOLE,
                     "{\"type\":\"DELETED\",\"object\":" SERVICE("old", "20", "10.0.0.9") "}");
    if (r < 0)
        return r;
    return read_one(reflector, JSON_WHOLE,
                    "{\"type\":\"ADDED\",\"object\":" SERVICE("web", "21", "10.0.0.1") "}");
}

/* Does it once with so many allocations, and again with all; returns true if they were enough. */
static bool survives(int (*read)(struct reflector *reflector), int most)
{
    struct reflector reflector = { .resource = kube_agent_resources.rows, .changed = on_changed };
    struct store *store = store_new();
    assert_non_null(store);
    kube_objects_init(&reflector.objects, store, KIND_SERVICE);
    assert_int_equal(read_one(&reflector, JSON_ITEM, SERVICE("old", "1", "10.0.0.9")), 0);

    allocations_left = most;
    int r = read(&reflector);
    allocations_left = -1;
    if (r < 0) {
        assert_non_null(strstr(reflector.trouble, "no memory"));
        assert_int_equal(read(&reflector), 0);
    }
    assert_int_equal(store_count(store, KIND_SERVICE), 1);
    assert_non_null(store_get(store, KIND_SERVICE, "d", "web"));

    kube_objects_done(&reflector.objects);
    key_set_done(&reflector.named);
    free(reflector.continuation);
    store_free(store);
    return r == 0;
}

static void try_all(int (*read)(struct reflector *reflector))
{
    int most = 0;
    while (!survives(read, most))
        assert_true(++most < MOST_ALLOCATIONS);
    assert_true(most > 5);
}

static void of_a_list(void **state)
{
    (void)state;
    versions_come_last = false;
    try_all(read_list);
}

static void of_a_list_of_custom_resources(void **state)
{
    (void)state;
    versions_come_last = true;
    try_all(read_list);
}

static void of_a_watch(void **state)
{
    (void)state;
    try_all(read_watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_list),
        cmocka_unit_test(of_a_list_of_custom_resources),
        cmocka_unit_test(of_a_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
