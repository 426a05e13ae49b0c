// SPDX-License-Identifier: Apache-2.0
/* Documents: places, paths, conversions; and the two ways to read a single one. */
#include <stdio.h>

#include "faults/documents.h"
#include "reading.h"

static struct document *parse(const char *text, enum reader_format format)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct document *document = NULL;
    int r = document_parse(text, strlen(text), "f", format, &document, &faults);
    if (r != 1)
        fail_msg("%s", faults.list.count ? faults.list.items[0].message : "no document");
    return document;
}

/* Finds a node by keys and indices: "a.0.b". */
static const struct doc *find(const struct document *document, const char *path)
{
    const struct doc *node = document->root;
    while (*path) {
        char name[32];
        int used = 0;
        assert_int_equal(sscanf(path, "%31[^/]%n", name, &used), 1);
        path += used + (path[used] == '/');
        const struct doc *next = NULL;
        doc_each(child, node) {
            char index[16];
            snprintf(index, sizeof(index), "%u", child->index);
            if (strcmp(child->key ? child->key : index, name) == 0)
                next = child;
        }
        assert_non_null(next);
        node = next;
    }
    return node;
}

static void assert_where(const struct document *document, const char *path, uint32_t line,
                         uint32_t column)
{
    uint32_t got_line, got_column;
    doc_where(document, find(document, path), &got_line, &got_column);
    assert_int_equal(got_line, line);
    assert_int_equal(got_column, column);
}

static void json_places(void **state)
{
    (void)state;
    CLEANUP(document_freep)
    struct document *document =
        parse("\n  {\"a\": [1, [2,\r\n [ ] , {\"x\" :3}], \"\xc3\xa4\"  ,5],\n"
              "\t\"b\\\"}\\u00e4\" : { } , \"c\":\n\n  -7.5e1 }\n",
              READER_JSON);
    assert_where(document, "", 2, 3);
    assert_where(document, "a", 2, 9);
    assert_where(document, "a/0", 2, 10);
    assert_where(document, "a/1", 2, 13);
    assert_where(document, "a/1/0", 2, 14);
    assert_where(document, "a/1/1", 3, 2);
    assert_where(document, "a/1/2", 3, 8);
    assert_where(document, "a/1/2/x", 3, 14);
    assert_where(document, "a/2", 3, 19);
    assert_where(document, "a/3", 3, 25);
    assert_where(document, "b\"}\xc3\xa4", 4, 17);
    assert_where(document, "c", 6, 3);
}

static void json_places_in_lists(void **state)
{
    (void)state;
    const char text[] = "{\"items\": [{\"a\":1},\n   {\"b\": [10,\n 20]}]}";
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(reader_freep) struct reader *reader = NULL;
    CLEANUP(document_freep) struct document *first = NULL;
    CLEANUP(document_freep) struct document *second = NULL;
    assert_int_equal(reader_open(make_file(text, strlen(text)), "f", READER_JSON,
                                 &reader_limits_default, &reader),
                     0);
    assert_int_equal(reader_next(reader, &first, &faults), 1);
    assert_int_equal(reader_next(reader, &second, &faults), 1);
    assert_where(first, "a", 1, 17);
    assert_where(second, "", 2, 4);
    assert_where(second, "b/0", 2, 11);
    assert_where(second, "b/1", 3, 2);
}

static void yaml_places(void **state)
{
    (void)state;
    CLEANUP(document_freep)
    struct document *document = parse(
        "# x\n\xc3\xa4: 1\nb:\n  - c: \"d\"\n    e: [1,  2]\r\nf:\n  g:\nh: 3\n", READER_YAML);
    assert_where(document, "", 2, 1);
    assert_where(document, "\xc3\xa4", 2, 4);
    assert_where(document, "b", 4, 3);
    assert_where(document, "b/0", 4, 5);
    assert_where(document, "b/0/c", 4, 8);
    assert_where(document, "b/0/e/1", 5, 13);
    assert_where(document, "h", 8, 4);
}

static void paths_have_names(void **state)
{
    (void)state;
    static const struct {
        const char *path, *expected;
    } cases[] = {
        { "", "" },
        { "spec", "spec" },
        { "spec/ports/1/port", "spec.ports[1].port" },
        { "meta/x.io", "meta[\"x.io\"]" },
        { "meta/", "meta" },
    };
    CLEANUP(document_freep)
    struct document *document =
        parse("{\"spec\":{\"ports\":[0,{\"port\":1}]},\"meta\":{\"x.io\":2}}", READER_JSON);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *path = doc_path(find(document, cases[i].path));
        assert_string_equal(path, cases[i].expected);
    }
}

static void get_finds_members(void **state)
{
    (void)state;
    CLEANUP(document_freep)
    struct document *document = parse("a: 1\nn:\nl: [a]\n", READER_YAML);
    assert_string_equal(doc_get(document->root, "a")->text, "1");
    assert_null(doc_get(document->root, "n"));
    assert_null(doc_get(document->root, "x"));
    assert_null(doc_get(doc_get(document->root, "l"), "a"));
    assert_null(doc_get(NULL, "a"));
}

static const char yaml_values[] = "i: 80\nbig: 70000\nhuge: 99999999999999999999\nexp: 1e3\n"
                                  "oct: 012\nneg: -5\nq: \"80\"\nt: true\non: on\nqt: 'true'\n"
                                  "l: [1]\nm: {a: 1}\nn:\nd: 1.0\ns: -x\n";

static void integers_are_checked(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    CLEANUP(document_freep) struct document *document = parse(yaml_values, READER_YAML);
    const struct doc *root = document->root;
    int64_t value = 7;

    assert_int_equal(doc_int(document, NULL, 1, 65535, &value, &faults), 0);
    assert_int_equal(doc_int(document, find(document, "n"), 1, 65535, &value, &faults), 0);
    assert_int_equal(value, 7);
    assert_int_equal(doc_int(document, doc_get(root, "i"), 80, 80, &value, &faults), 1);
    assert_int_equal(value, 80);
    assert_int_equal(doc_int(document, doc_get(root, "neg"), -5, 0, &value, &faults), 1);
    assert_int_equal(value, -5);
    assert_true(faults_none(&faults));

    static const char *const bad[] = {
        "big", "huge", "exp", "oct", "neg", "q", "t", "l", "d", "s"
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(doc_int(document, doc_get(root, bad[i]), 1, 65535, &value, &faults),
                         -EBADMSG);
    assert_int_equal(value, -5);
    show_faults(&faults, &out);
    assert_string_equal(text_str(&out),
                        "f:2:6: big: 70000 is out of range 1..65535\n"
                        "f:3:7: huge: 99999999999999999999 is out of range 1..65535\n"
                        "f:4:6: exp: expected a whole number, found \"1e3\"\n"
                        "f:5:6: oct: expected a whole number, found \"012\"\n"
                        "f:6:6: neg: -5 is out of range 1..65535\n"
                        "f:7:4: q: expected a whole number, found the string \"80\"\n"
                        "f:8:4: t: expected a whole number, found \"true\"\n"
                        "f:11:4: l: expected a single value, found a list\n"
                        "f:14:4: d: expected a whole number, found \"1.0\"\n"
                        "f:15:4: s: expected a whole number, found \"-x\"\n");
}

static void booleans_and_strings_are_checked(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    CLEANUP(document_freep) struct document *document = parse(yaml_values, READER_YAML);
    const struct doc *root = document->root;
    const char *string = NULL;
    bool value = false;

    assert_int_equal(doc_bool(document, NULL, &value, &faults), 0);
    assert_int_equal(doc_bool(document, doc_get(root, "t"), &value, &faults), 1);
    assert_true(value);
    assert_int_equal(doc_bool(document, doc_get(root, "on"), &value, &faults), -EBADMSG);
    assert_int_equal(doc_bool(document, doc_get(root, "qt"), &value, &faults), -EBADMSG);
    assert_int_equal(doc_string(document, doc_get(root, "i"), &string, &faults), 1);
    assert_string_equal(string, "80");
    assert_int_equal(doc_string(document, doc_get(root, "m"), &string, &faults), -EBADMSG);
    assert_int_equal(doc_expect(document, doc_get(root, "m"), DOC_LIST, &faults), -EBADMSG);
    assert_int_equal(doc_expect(document, doc_get(root, "q"), DOC_MAP, &faults), -EBADMSG);
    assert_int_equal(doc_expect(document, doc_get(root, "m"), DOC_MAP, &faults), 1);
    assert_int_equal(doc_expect(document, doc_get(root, "x"), DOC_MAP, &faults), 0);
    doc_raise_key(document, doc_get(doc_get(root, "m"), "a"), &faults, document_member_unknown);
    doc_raise(document, NULL, &faults, document_too_many);
    show_faults(&faults, &out);
    assert_string_equal(text_str(&out), "f:9:5: on: expected true or false, found \"on\"\n"
                                        "f:10:5: qt: expected true or false, found the string "
                                        "\"true\"\n"
                                        "f:12:4: m: expected a single value, found a map\n"
                                        "f:12:4: m: expected a list, found a map\n"
                                        "f:7:4: q: expected a map, found a string\n"
                                        "f:12:5: m: unknown member\n"
                                        "f:1:1: more than one document\n");
}

static void json_faults_have_places(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    CLEANUP(document_freep)
    struct document *document =
        parse("{\n \"spec\": {\"ports\": [\n  {\"port\": 70000}],\n  \"bad\\u001b[1m\" : 1}}",
              READER_JSON);
    int64_t value;
    const struct doc *port = find(document, "spec/ports/0/port");
    assert_int_equal(doc_int(document, port, 1, 65535, &value, &faults), -EBADMSG);
    doc_raise(document, find(document, "spec/bad\x1b[1m"), &faults, document_too_many);
    doc_raise_key(document, find(document, "spec/bad\x1b[1m"), &faults, document_member_unknown);
    show_faults(&faults, &out);
    assert_string_equal(text_str(&out),
                        "f:3:12: spec.ports[0].port: 70000 is out of range 1..65535\n"
                        "f:4:20: spec[\"bad?[1m\"]: more than one document\n"
                        "f:4:3: spec: unknown member\n");
}

static void long_values_are_cut_in_reports(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    text_add(&text, "a: ");
    for (int i = 0; i < 1000; i++)
        text_add(&text, "\xe2\x82\xac");
    CLEANUP(document_freep) struct document *document = parse(text_str(&text), READER_YAML);
    bool value;
    assert_int_equal(doc_bool(document, doc_get(document->root, "a"), &value, &faults), -EBADMSG);
    const char *message = faults.list.items[0].message;
    assert_in_range(strlen(message), 100, 140);
    assert_string_equal(message + strlen(message) - 7, "\xe2\x82\xac...\"");
}

static int parse_result(const char *text, char **ret_fault)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct text out = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    int r = document_parse(text, strlen(text), "f", READER_YAML, &document, &faults);
    assert_int_equal(r == 1, document != NULL);
    show_faults(&faults, &out);
    *ret_fault = text_take(&out);
    return r;
}

static void a_single_document_is_one(void **state)
{
    (void)state;
    AUTOFREE char *none = NULL, *two = NULL, *items = NULL;
    assert_int_equal(parse_result("# nothing", &none), 0);
    assert_string_equal(none, "");
    assert_int_equal(parse_result("a: 1\n---\nb: 1\n", &two), -EBADMSG);
    assert_string_equal(two, "f:3:1: more than one document\n");
    assert_int_equal(parse_result("items: [1]", &items), 1);

    CLEANUP(document_freep) struct document *whole = parse("{\"items\":[1,2]}", READER_JSON);
    assert_int_equal(doc_get(whole->root, "items")->count, 2);
}

static void files_are_read_whole(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text big = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    char path[64];

    assert_int_equal(document_read("/nowhere/x", READER_YAML, &document, &faults), -ENOENT);
    assert_string_equal(faults.list.items[0].place, "/nowhere/x");
    assert_int_equal(document_read("/", READER_YAML, &document, &faults), -EISDIR);
    assert_int_equal(faults.list.count, 2);

    AUTOCLOSE int fd = make_file("items: [1, 2]\n", 14);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_int_equal(document_read(path, READER_YAML, &document, &faults), 1);
    assert_int_equal(doc_get(document->root, "items")->count, 2);

    for (int i = 0; i < (1 << 20) / 8; i++)
        text_add(&big, "# 3456\n#");
    text_add(&big, "#");
    AUTOCLOSE int big_fd = make_file(big.data, big.length);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", big_fd);
    CLEANUP(document_freep) struct document *none = NULL;
    assert_int_equal(document_read(path, READER_YAML, &none, &faults), -EBADMSG);
    assert_string_equal(faults.list.items[2].message, "the file is longer than 1048576 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_places),
        cmocka_unit_test(json_places_in_lists),
        cmocka_unit_test(yaml_places),
        cmocka_unit_test(paths_have_names),
        cmocka_unit_test(get_finds_members),
        cmocka_unit_test(integers_are_checked),
        cmocka_unit_test(booleans_and_strings_are_checked),
        cmocka_unit_test(json_faults_have_places),
        cmocka_unit_test(long_values_are_cut_in_reports),
        cmocka_unit_test(a_single_document_is_one),
        cmocka_unit_test(files_are_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
