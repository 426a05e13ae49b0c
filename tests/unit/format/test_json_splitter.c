// SPDX-License-Identifier: Apache-2.0
/* JSON that comes in chunks: how it is cut, what is lost of it, and that chunks do not matter. */
#include "format/json_splitter.h"
#include "reading.h"

static const struct reader_limits limits = { .document_bytes = 60, .depth = 4 };

static void show_part(const struct json_part *part, bool lost, struct text *out)
{
    static const char *const names[] = {
        [JSON_WHOLE] = "whole",
        [JSON_ITEM] = "item",
        [JSON_FRAME] = "frame",
    };
    assert_int_equal(strlen(part->text), part->length);
    text_addf(out, "%s%s %s\n", lost ? "lost " : "", names[part->kind], part->text);
}

/* All that comes out; *r is then what the last call returned. */
static void take_parts(struct json_splitter *splitter, struct text *out, int *r)
{
    struct json_part part;
    for (;;) {
        AUTOFAULTS struct faults faults = { 0 };
        *r = json_splitter_next(splitter, &part, &faults);
        if (*r == 0)
            break;
        if (*r == 1 || *r == -EMSGSIZE)
            show_part(&part, *r < 0, out);
        assert_int_equal(faults.list.count, *r < 0);
        show_faults(&faults, out);
        if (*r == -EBADMSG)
            break;
    }
}

static char *split(const char *bytes, size_t size, size_t chunk, bool cut_items)
{
    CLEANUP(json_splitter_freep)
    struct json_splitter *splitter = json_splitter_new("f", &limits, cut_items);
    AUTOTEXT struct text out = { 0 };
    int r = 0;
    for (size_t at = 0; at < size && r == 0; at += chunk) {
        /* Exactly so long, so that reading on is seen. */
        size_t count = MIN(chunk, size - at);
        AUTOFREE char *copy = malloc(count);
        memcpy(copy, bytes + at, count);
        json_splitter_push(splitter, copy, count);
        take_parts(splitter, &out, &r);
    }
    json_splitter_end(splitter);
    if (r == 0)
        take_parts(splitter, &out, &r);
    struct json_part part;
    AUTOFAULTS struct faults none = { 0 };
    assert_int_equal(json_splitter_next(splitter, &part, &none), 0);
    text_add(&out, "");
    return text_take(&out);
}

static void assert_split(const char *bytes, size_t size, bool cut_items, const char *expected)
{
    for (size_t chunk = 1; chunk <= size + 1; chunk++) {
        AUTOFREE char *got = split(bytes, size, chunk, cut_items);
        assert_string_equal(got, expected);
    }
}

#define assert_list(text, expected)  assert_split(text, sizeof(text) - 1, true, expected)
#define assert_watch(text, expected) assert_split(text, sizeof(text) - 1, false, expected)

static void lists_are_cut(void **state)
{
    (void)state;
    assert_list("{\"kind\":\"L\",\"metadata\":{\"continue\":\"x\"},\"items\":[{\"a\":[1]},{}]}\n",
                "item {\"a\":[1]}\nitem {}\n"
                "frame {\"kind\":\"L\",\"metadata\":{\"continue\":\"x\"},\"items\":[]}\n");
    assert_list("{ \"items\" : [ 1 , \"]\" ] , \"kind\" : \"L\" }",
                "item 1 \nitem \"]\" \nframe { \"items\" : [] , \"kind\" : \"L\" }\n");
    assert_list("{\"items\":[]}", "frame {\"items\":[]}\n");
    /* Nothing was cut out: the whole may be an empty list, or an error. */
    assert_list("{\"items\":null}", "whole {\"items\":null}\n");
    assert_list("{\"kind\":\"Status\"}", "whole {\"kind\":\"Status\"}\n");
    assert_list("", "");
}

static void watches_are_cut(void **state)
{
    (void)state;
    assert_watch("{\"type\":\"ADDED\",\"object\":{\"items\":[1]}}\n{\"b\":\"}{\"}{}\n\n",
                 "whole {\"type\":\"ADDED\",\"object\":{\"items\":[1]}}\nwhole {\"b\":\"}{\"}\n"
                 "whole {}\n");
    assert_watch("{\"items\":[{}]}", "whole {\"items\":[{}]}\n");
    assert_watch("\"\\\"\\\\\" 12 null", "whole \"\\\"\\\\\"\nwhole 12\nwhole null\n");
}

/* Whether a value is JSON, or text at all, is its reader's question. */
static void other_values_go_on(void **state)
{
    (void)state;
    assert_list("{\"items\":[{],\xff\xfe,{\"a\":x}]}",
                "item {]\nitem \xff\xfe\nitem {\"a\":x}\nframe {\"items\":[]}\n");
    assert_watch("<html> {\"a\" 1}", "whole <html>\nwhole {\"a\" 1}\n");
}

static void large_values_are_passed_over(void **state)
{
    (void)state;
    assert_list("{\"items\":[{\"name\":\"n\",\"x\":\"0123456789012345678901234567890123456789"
                "]},\\\"{[[[[[[[[[[[[[[[[[[\"},{\"a\":1}]}",
                "lost item {\"name\":\"n\",\"x\":\"0123456789012345678901234567890123456789]},\\"
                "\nf:1:11: the value that begins here is longer than 60 bytes\n"
                "item {\"a\":1}\nframe {\"items\":[]}\n");
}

static void deep_values_are_passed_over(void **state)
{
    (void)state;
    assert_list("{\"items\":[[[[[[\"]]]]],\"]]]]],{}]}",
                "lost item [[[[[\nf:1:15: nested deeper than 4 levels\n"
                "item {}\nframe {\"items\":[]}\n");
    assert_watch("[[[[[[]]]]]] {}", "lost whole [[[[[\nf:1:5: nested deeper than 4 levels\n"
                                    "whole {}\n");
}

/* What is around the items can't be passed over without them. */
static void large_frames_are_refused(void **state)
{
    (void)state;
    assert_list("{\"a\":[[[[1]]]],\"items\":[1]}", "f:1:9: nested deeper than 4 levels\n");
    assert_list("{\"items\":[1],\"a\":[[[[2]]]]}", "item 1\nf:1:21: nested deeper than 4 levels\n");
}

static void lost_places_end_it(void **state)
{
    (void)state;
    assert_list("{\"items\":[1,,2]}", "item 1\nf:1:13: expected a value\n");
    assert_list("{\"items\":[1}", "f:1:12: expected a comma or a closing bracket\n");
    assert_list("{\"items\":[1],\"items\":[2]}",
                "item 1\nf:1:22: the key \"items\" is here twice\n");
    assert_list("{\"items\":[1,2", "item 1\nf:1:14: the text ends inside the value that begins in "
                                   "line 1\n");
    assert_watch("{\n\"a", "f:2:3: the text ends inside the value that begins in line 1\n");
}

static void memory_is_bounded(void **state)
{
    (void)state;
    CLEANUP(json_splitter_freep)
    struct json_splitter *splitter = json_splitter_new("f", &limits, false);
    AUTOFREE char *chunk = malloc(1000);
    struct json_part part;
    int lost = 0;
    memset(chunk, 'x', 1000);
    for (int i = 0; i < 1000; i++) {
        AUTOFAULTS struct faults faults = { 0 };
        chunk[0] = i == 0 || i == 999 ? '"' : 'x';
        json_splitter_push(splitter, chunk, i == 999 ? 1 : 1000);
        int r = json_splitter_next(splitter, &part, &faults);
        assert_true(r == 0 || r == -EMSGSIZE);
        lost += r < 0;
        if (r < 0)
            assert_int_equal(part.length, 61);
    }
    assert_int_equal(lost, 1);
    AUTOFAULTS struct faults none = { 0 };
    json_splitter_push(splitter, "{}", 2);
    assert_int_equal(json_splitter_next(splitter, &part, &none), 1);
    assert_string_equal(part.text, "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_cut),
        cmocka_unit_test(watches_are_cut),
        cmocka_unit_test(other_values_go_on),
        cmocka_unit_test(large_values_are_passed_over),
        cmocka_unit_test(deep_values_are_passed_over),
        cmocka_unit_test(large_frames_are_refused),
        cmocka_unit_test(lost_places_end_it),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
