// SPDX-License-Identifier: Apache-2.0
/* Which fault of the catalogue is raised of which text, with which place and path. */
#include "format/doc.h"
#include "reading.h"

static struct document *parse(const char *text)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct document *document = NULL;
    assert_int_equal(document_parse(text, strlen(text), "f", READER_YAML, &document, &faults), 1);
    return document;
}

/* The last fault of a list: its code, and "place: message". */
static void assert_last(const struct faults *faults, const char *code, const char *says)
{
    assert_true(faults->list.count > 0 && !faults->incomplete);
    const struct fault *last = &faults->list.items[faults->list.count - 1];
    AUTOFREE char *said = text_format("%s: %s", last->place, last->message);
    assert_string_equal(said, says);
    assert_non_null(last->type);
    assert_string_equal(last->type->code, code);
    assert_null(last->remedy);
}

static void values_of_another_form_have_a_code(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = parse("a: {b: 70000, c: on}\n");
    const struct doc *map = doc_get(document->root, "a");
    int64_t number;
    bool yes;
    assert_int_equal(doc_int(document, doc_get(map, "b"), 1, 9, &number, &faults), -EBADMSG);
    assert_last(&faults, "document-number-out-of-range", "f:1:8: a.b: 70000 is out of range 1..9");
    assert_int_equal(doc_bool(document, doc_get(map, "c"), &yes, &faults), -EBADMSG);
    assert_last(&faults, "document-value-unexpected",
                "f:1:18: a.c: expected true or false, found \"on\"");
}

static void a_fault_is_at_a_value_or_at_its_name(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = parse("a: {b: 1}\n");
    const struct doc *member = doc_get(doc_get(document->root, "a"), "b");
    doc_raise(document, member, &faults, document_value_unexpected, .expected = "x");
    assert_last(&faults, "document-value-unexpected", "f:1:8: a.b: expected x");
    doc_raise_key(document, member, &faults, document_value_unexpected, .expected = "x");
    assert_last(&faults, "document-value-unexpected", "f:1:5: a: expected x");
    doc_raise(document, NULL, &faults, document_value_unexpected, .expected = "x", .found = "y");
    assert_last(&faults, "document-value-unexpected", "f:1:1: expected x, found y");
}

/* The code of the first fault of a text that is read as a stream of documents. */
static const char *first_code(const char *bytes, size_t size, enum reader_format format,
                              const struct reader_limits *limits)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(reader_freep) struct reader *reader = NULL;
    int r = reader_open(make_file(bytes, size), "f", format, limits, &reader);
    assert_int_equal(r, 0);
    while (faults_none(&faults)) {
        CLEANUP(document_freep) struct document *document = NULL;
        r = reader_next(reader, &document, &faults);
        if (r == 0)
            return "none";
    }
    assert_int_equal(r, -EBADMSG);
    assert_non_null(faults.list.items[0].type);
    assert_null(faults.list.items[0].remedy);
    return faults.list.items[0].type->code;
}

struct broken {
    const char *code, *text;
    size_t size;
};

#define BROKEN(code, text)           \
    {                                \
        code, text, sizeof(text) - 1 \
    }

static void assert_codes(const struct broken *cases, size_t count, enum reader_format format,
                         const struct reader_limits *limits)
{
    for (size_t i = 0; i < count; i++) {
        const char *code = first_code(cases[i].text, cases[i].size, format, limits);
        if (strcmp(code, cases[i].code) != 0)
            fail_msg("%s: %s, not %s", cases[i].text, code, cases[i].code);
    }
}

static void broken_json_has_a_code(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        BROKEN("syntax-wrong", "{\"a\": tru}"),
        BROKEN("syntax-not-utf8", "\"\xff\""),
        BROKEN("syntax-utf16", "\xff\xfe{\0}\0"),
        BROKEN("syntax-character-cut", "\"\xc3"),
        BROKEN("syntax-character-forbidden", "{}\x01"),
        BROKEN("syntax-key-twice", "{\"a\":1,\"a\":2}"),
        BROKEN("syntax-key-twice", "{\"items\":[],\"items\":[]}"),
        BROKEN("syntax-text-ended", "{\"a\":"),
        BROKEN("json-value-missing", "{\"items\":[1,]}"),
        BROKEN("json-comma-missing", "{\"items\":[1}"),
        BROKEN("json-number-wrong", "[NaN]"),
        BROKEN("json-digit-missing", "[1.]"),
        BROKEN("json-quotes-wrong", "{'a':1}"),
        BROKEN("json-control-character", "[\"\t\"]"),
        BROKEN("json-nul", "[\"\\u0000\"]"),
    };
    assert_codes(cases, ARRAY_SIZE(cases), READER_JSON, &reader_limits_default);
}

static void broken_yaml_has_a_code(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        BROKEN("syntax-wrong", "a: b: c\n"),
        BROKEN("syntax-wrong", "a: [1, 2\nb: 3\n"),
        BROKEN("syntax-tab", "a:\n\t- b\n"),
        BROKEN("syntax-key-twice", "a: 1\na: 2\n"),
        BROKEN("yaml-nul", "\"\\0\""),
        BROKEN("yaml-alias-unknown", "*x\n"),
        BROKEN("yaml-alias-endless", "&x [*x]\n"),
        BROKEN("yaml-merge-no-map", "x: &x []\ny: {<<: *x}\n"),
        BROKEN("yaml-merge-no-alias", "<<: {}\n"),
        BROKEN("yaml-key-wrong", "? [a]\n: 1\n"),
        BROKEN("yaml-key-missing", "?\n: 2\n"),
        BROKEN("yaml-key-anchored", "&x a: 1\n"),
        BROKEN("yaml-items-anchored", "items: &x []\n"),
        BROKEN("yaml-tag-unsupported", "!!str a\n"),
    };
    assert_codes(cases, ARRAY_SIZE(cases), READER_YAML, &reader_limits_default);
}

static void limits_have_a_code(void **state)
{
    (void)state;
    const struct reader_limits limits = { .file_bytes = 60, .document_bytes = 20, .depth = 2 };
    static const struct broken json[] = {
        BROKEN("document-too-deep", "[[[1]]]"),
        BROKEN("document-value-too-long", "[1234567890,1234567890]"),
        BROKEN("document-file-too-long", "[1234567890,1234567]\n[1234567890,1234567]\n"
                                         "[1234567890,1234567]\n"),
    };
    static const struct broken yaml[] = {
        BROKEN("document-too-deep", "[[[1]]]"),
        BROKEN("yaml-document-too-long", "- &x abcdefghi\n- *x\n- *x\n"),
    };
    assert_codes(json, ARRAY_SIZE(json), READER_JSON, &limits);
    assert_codes(yaml, ARRAY_SIZE(yaml), READER_YAML, &limits);
}

/* `count` copies of a pattern that has the number of the copy, between two other texts. */
static struct text many(const char *before, const char *pattern, unsigned count, const char *after)
{
    struct text text = { 0 };
    text_add(&text, before);
    for (unsigned i = 0; i < count; i++) {
        const char *at = strchr(pattern, '#');
        text_add_bytes(&text, pattern, (size_t)(at - pattern));
        text_addf(&text, "%u%s", i, at + 1);
    }
    text_add(&text, after);
    return text;
}

static void what_is_too_much_has_a_code(void **state)
{
    (void)state;
    static const struct {
        const char *code, *before, *pattern, *after;
        enum reader_format format;
        unsigned count;
    } cases[] = {
        { "document-value-too-complex", "[0", ",#", "]", READER_JSON, 4000 },
        { "yaml-document-too-complex", "[0", ",#", "]", READER_YAML, 4000 },
        { "yaml-gap-too-long", "", "# a comment\n", "a: 1\n", READER_YAML, 20000 },
        { "yaml-anchors-too-many", "", "- &a# 1\n", "", READER_YAML, 2000 },
        { "yaml-aliases-too-large", "x: &x [0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9]\ny:\n",
          "- {a#: *x}\n", "", READER_YAML, 4000 },
    };
    const struct reader_limits few = { .file_bytes = 1 << 20, .document_bytes = 20000, .depth = 9 };
    const struct reader_limits much = reader_limits_default;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOTEXT struct text text =
            many(cases[i].before, cases[i].pattern, cases[i].count, cases[i].after);
        const char *code = first_code(
            text_str(&text), text.length, cases[i].format,
            strstr(cases[i].code, "-many") || strstr(cases[i].code, "-large") ? &much : &few);
        assert_string_equal(code, cases[i].code);
    }
}

static void files_have_a_code(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    struct document *document = NULL;
    assert_int_equal(document_read("/none/such", READER_YAML, &document, &faults), -ENOENT);
    assert_string_equal(faults.list.items[0].type->code, "document-open-failed");
    assert_string_equal(faults.list.items[0].message, "can't be opened: No such file or directory");
    assert_string_equal(faults.list.items[0].remedy, "put it there, or name another");
    assert_int_equal(document_read("/", READER_YAML, &document, &faults), -EISDIR);
    assert_string_equal(faults.list.items[1].type->code, "document-read-failed");
    assert_non_null(faults.list.items[1].remedy);
    assert_int_equal(document_parse("a", 1, "f", READER_YAML, &document, &faults), 1);
    document_free(document);
    assert_int_equal(document_parse("{}{}", 4, "f", READER_JSON, &document, &faults), -EBADMSG);
    assert_last(&faults, "document-too-many", "f:1:3: more than one document");
}

/* An object of the API has one place for all of its faults. */
static void the_path_tells_two_faults_of_one_place_apart(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = parse("a: 1\nb: 2\n");
    doc_each(member, document->root)
        doc_raise(document, member, &faults, document_value_unexpected, .expected = "x");
    assert_string_equal(faults.list.items[0].key, "a\n");
    assert_string_equal(faults.list.items[1].key, "b\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_another_form_have_a_code),
        cmocka_unit_test(a_fault_is_at_a_value_or_at_its_name),
        cmocka_unit_test(broken_json_has_a_code),
        cmocka_unit_test(broken_yaml_has_a_code),
        cmocka_unit_test(limits_have_a_code),
        cmocka_unit_test(what_is_too_much_has_a_code),
        cmocka_unit_test(files_have_a_code),
        cmocka_unit_test(the_path_tells_two_faults_of_one_place_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
