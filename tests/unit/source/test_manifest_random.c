// SPDX-License-Identifier: Apache-2.0
/* Whatever was done to a folder, the source ends with what one look at the folder would give. */
#include "folder_fixture.h"

static const char *const names[] = { "a.yaml", "b.yaml", "c.yml", "d.json", "e.yaml" };
#define BROKEN "{"
enum { NAMES = sizeof(names) / sizeof(names[0]), SERVICES = 6 };

static void same_store(const struct store *a, const struct store *b)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        object_list left = { 0 }, right = { 0 };
        assert_int_equal(store_list(a, (enum kind)kind, &left), 0);
        assert_int_equal(store_list(b, (enum kind)kind, &right), 0);
        assert_int_equal(left.count, right.count);
        for (size_t i = 0; i < left.count; i++) {
            assert_int_equal(object_key_cmp(left.items[i], right.items[i]), 0);
            assert_true(object_equal(left.items[i], right.items[i]));
        }
        vec_done(&left);
        vec_done(&right);
    }
}

/* Some Services of a small set of names, so that files contend for them; never twice in a file. */
static void random_content(struct text *text, bool json)
{
    for (int i = 0; i < SERVICES; i++) {
        if (rand() % 3)
            continue;
        int port = 1 + rand() % 4;
        if (json)
            text_addf(text,
                      "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s%d\"},"
                      "\"spec\":{\"clusterIP\":\"10.96.0.9\",\"ports\":[{\"port\":%d}]}}\n",
                      i, port);
        else
            text_addf(text,
                      "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d}\n"
                      "spec: {clusterIP: 10.96.0.9, ports: [{port: %d}]}\n",
                      i, port);
    }
}

static void random_edit(struct fixture *fx)
{
    const char *name = names[rand() % NAMES], *other = names[rand() % NAMES];
    AUTOTEXT struct text text = { 0 };
    random_content(&text, strstr(name, ".json"));
    switch (rand() % 7) {
    case 0:
    case 1:
        write_file(fx, name, text_str(&text));
        break;
    case 2:
        rename_over(fx, name, text_str(&text));
        break;
    case 3:
        (void)unlink(path_of(fx, name));
        break;
    case 4:
        if (strstr(name, ".json") == strstr(other, ".json")) /* neither */
            (void)rename(path_of(fx, name), path_of(fx, other));
        break;
    case 5:
        write_file(fx, name, BROKEN);
        break;
    case 6:
        for (int turns = rand() % 20; turns > 0; turns--)
            assert_true(sd_event_run(fx->event, (uint64_t)(rand() % 2) * 1000) >= 0);
        break;
    }
}

/* A fresh look knows no last good content. */
static void mend_broken_files(struct fixture *fx)
{
    for (int i = 0; i < NAMES; i++) {
        struct stat st;
        AUTOTEXT struct text text = { 0 };
        random_content(&text, strstr(names[i], ".json"));
        if (stat(path_of(fx, names[i]), &st) == 0 && st.st_size == strlen(BROKEN))
            write_file(fx, names[i], text_str(&text));
    }
}

static void compare_with_a_fresh_look(struct fixture *fx)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(store_freep) struct store *fresh = store_new();
    assert_non_null(fresh);
    assert_int_equal(manifest_load(fx->folder, MAX_FILE_BYTES, fresh, &faults), 0);
    store_conflicts(fresh, &faults);
    same_store(fx->store, fresh);
    assert_int_equal(faults.list.count, fault_book_count(fx->faults));
    vec_each(const struct fault, fault, &faults.list) {
        const struct known_fault *known = fault_in(fx, "duplicates", fault->message);
        assert_non_null(known);
        assert_string_equal(known->place, fault->place);
    }
    assert_int_equal(fx->status.broken_files, 0);
}

static void random_edits_end_as_a_fresh_look(void **state)
{
    struct fixture *fx = *state;
    srand(11);
    fixture_start(fx);
    for (int round = 0; round < 40; round++) {
        for (int edits = rand() % 30; edits > 0; edits--)
            random_edit(fx);
        if (rand() % 2)
            settle(fx);
        mend_broken_files(fx);
        settle(fx);
        compare_with_a_fresh_look(fx);
    }
}

static void any_order_of_files_gives_the_same_store(void **state)
{
    struct fixture *fx = *state;
    struct text contents[NAMES] = { { 0 } };
    srand(12);
    for (int i = 0; i < NAMES; i++)
        random_content(&contents[i], strstr(names[i], ".json"));

    CLEANUP(store_freep) struct store *first = NULL;
    for (int round = 0; round < 30; round++) {
        int order[NAMES];
        for (int i = 0; i < NAMES; i++) {
            int at = rand() % (i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        fixture_start(fx);
        settle(fx);
        for (int i = 0; i < NAMES; i++) {
            rename_over(fx, names[order[i]], text_str(&contents[order[i]]));
            if (rand() % 2)
                settle(fx);
        }
        settle(fx);
        compare_with_a_fresh_look(fx);
        if (first)
            same_store(fx->store, first);

        manifest_source_free(TAKE_PTR(fx->source));
        if (!first)
            first = TAKE_PTR(fx->store);
        store_free(fx->store);
        fx->store = store_new();
        assert_non_null(fx->store);
        for (int i = 0; i < NAMES; i++)
            remove_file(fx, names[i]);
    }
    for (int i = 0; i < NAMES; i++)
        text_done(&contents[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(random_edits_end_as_a_fresh_look),
        in_folder(any_order_of_files_gives_the_same_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
