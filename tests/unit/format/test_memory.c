// SPDX-License-Identifier: Apache-2.0
/*
 * Readers and writers when memory runs out, json-c and libyaml included: each allocation of a
 * reading fails once. What is read is then right or -ENOMEM, and a refusal stays a refusal.
 */
#include "failing_heap.h"
#include "faults/documents.h"
#include "format/json.h"
#include "reading.h"

const char *__lsan_default_suppressions(void);

/* json-c 0.16 loses a value that it has made but finds no memory to put into its container. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libjson-c.so";
}

static const char yaml_text[] =
    "apiVersion: v1\nitems:\n- {kind: Service, metadata: {name: \"w\\u00e4b\"}}\n- kind: Node\n"
    "  spec:\n    list: [a, ~, 'b', {c: d}]\n    text: |\n      x\n      y\nkind: List\n"
    "---\na: 1\nb:\n- c\n";

static const char json_text[] =
    "{\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"Service\",\"name\":\"w\\u00e4b\"},\n"
    "{\"a\":[1,2.5,-3e5,true,null,\"\\ud83d\\ude00\"],\"b\":{\"c\":{}}}],\"kind\":\"List\"}\n[1,{}]";

struct reading {
    int r;
    size_t documents;
    struct text text;
    struct faults faults;
};

static void reading_done(struct reading *reading)
{
    text_done(&reading->text);
    faults_done(&reading->faults);
}

/* Reads all. What is shown needs memory too, and is built only where all of it is there. */
static int read_all(const char *bytes, size_t size, enum reader_format format, bool show,
                    struct reading *reading)
{
    CLEANUP(reader_freep) struct reader *reader = NULL;
    int fd = make_file(bytes, size);
    reading->r = reader_open(fd, "f", format, &reader_limits_default, &reader);
    while (reading->r == 0) {
        CLEANUP(document_freep) struct document *document = NULL;
        int r = reader_next(reader, &document, &reading->faults);
        if (r == 0)
            return 0;
        if (r < 0) {
            assert_null(document);
            return reading->r = r;
        }
        reading->documents++;
        if (show)
            show_doc(document->root, &reading->text);
    }
    return reading->r;
}

static void reads_or_says_so(const char *bytes, size_t size, enum reader_format format)
{
    CLEANUP(reading_done) struct reading good = { 0 };
    assert_int_equal(read_all(bytes, size, format, true, &good), 0);
    int failures = 0;
    for (int n = 0;; n++) {
        CLEANUP(reading_done) struct reading reading = { 0 };
        int r = with_heap(n, read_all(bytes, size, format, false, &reading));
        if (!heap_missed) {
            assert_int_equal(r, 0);
            assert_int_equal(reading.documents, good.documents);
            break;
        }
        failures++;
        if (r == 0) { /* it could do without: then nothing is missing */
            assert_int_equal(reading.documents, good.documents);
            continue;
        }
        if (r != -ENOMEM) {
            AUTOTEXT struct text said = { 0 };
            show_faults(&reading.faults, &said);
            fail_msg("allocation %d: %d, %s", n, r, text_str(&said));
        }
    }
    assert_true(failures > 30);
}

static void yaml(void **state)
{
    (void)state;
    reads_or_says_so(yaml_text, sizeof(yaml_text) - 1, READER_YAML);
}

static void json(void **state)
{
    (void)state;
    reads_or_says_so(json_text, sizeof(json_text) - 1, READER_JSON);
}

/* Without memory for its words, a refusal is one all the same, and its list is incomplete. */
static void refusals_stay(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum reader_format format;
    } cases[] = {
        { "a: 1\nb: *x\n", READER_YAML }, { "a: 1\na: 2\n", READER_YAML },
        { "a:\n\tb\n", READER_YAML },     { "{\"a\":1,\"a\":2}", READER_JSON },
        { "{\"a\":[1}", READER_JSON },    { "{\"items\":[1],}", READER_JSON },
        { "[\"\\u0000\"]", READER_JSON }, { "[1,\xff]", READER_JSON },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (int n = 0;; n++) {
            CLEANUP(reading_done) struct reading reading = { 0 };
            const char *text = cases[i].text;
            int r = with_heap(n, read_all(text, strlen(text), cases[i].format, false, &reading));
            assert_true(r == -EBADMSG || r == -ENOMEM);
            if (r == -EBADMSG)
                assert_false(faults_none(&reading.faults));
            if (!heap_missed) {
                assert_int_equal(r, -EBADMSG);
                break;
            }
        }
    }
}

static void whole_documents(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        enum reader_format format;
    } cases[] = {
        { "a: [1, {b: c}]\n", 15, READER_YAML },
        { "{\"a\":[1,{\"b\":2.5},\"c\"]}", 23, READER_JSON },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (int n = 0;; n++) {
            CLEANUP(document_freep) struct document *document = NULL;
            AUTOFAULTS struct faults faults = { 0 };
            int r = with_heap(n, document_parse(cases[i].text, cases[i].size, "f", cases[i].format,
                                                &document, &faults));
            assert_int_equal(r == 1, document != NULL);
            if (!heap_missed) {
                assert_int_equal(r, 1);
                break;
            }
            assert_true(r == 1 || r == -ENOMEM);
        }
    }
}

static int name_place(const struct document *document, const struct doc *node,
                      struct faults *faults)
{
    doc_raise(document, node, faults, document_too_many);
    return 0;
}

static void places(void **state)
{
    (void)state;
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults none = { 0 };
    assert_int_equal(
        document_parse("{\"a\":[1,{\"b\":2}]}", 17, "f", READER_JSON, &document, &none), 1);
    const struct doc *node = doc_get(document->root, "a")->first->next->first;
    for (int n = 0;; n++) {
        AUTOFAULTS struct faults faults = { 0 };
        (void)with_heap(n, name_place(document, node, &faults));
        assert_false(faults_none(&faults));
        assert_int_equal(faults.incomplete, faults.list.count == 0);
        if (!heap_missed) {
            assert_string_equal(faults.list.items[0].place, "f:1:14");
            assert_string_equal(faults.list.items[0].message, "a[1].b: more than one document");
            break;
        }
        AUTOFREE char *path = with_heap(n, doc_path(node));
        assert_true(!path || strcmp(path, "a[1].b") == 0);
    }
}

static char *write_json(void)
{
    struct text text = { 0 };
    struct json json = { .out = &text };
    json_begin_object(&json, NULL);
    for (int i = 0; i < 40; i++)
        json_stringf(&json, "key", "%s\x01\xff", "a value that is not short");
    json_begin_array(&json, "list");
    json_int(&json, NULL, 1);
    json_double(&json, NULL, 1.5);
    json_time(&json, NULL, 1000);
    json_end_array(&json);
    json_end_object(&json);
    return text_take(&text);
}

/* All or nothing: a document with a hole would be believed. */
static void written_documents(void **state)
{
    (void)state;
    AUTOFREE char *good = write_json();
    int failures = 0;
    for (int n = 0;; n++) {
        AUTOFREE char *text = with_heap(n, write_json());
        if (text)
            assert_string_equal(text, good);
        else
            failures++;
        if (!heap_missed)
            break;
        assert_null(text);
    }
    assert_true(failures > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml),          cmocka_unit_test(json),
        cmocka_unit_test(refusals_stay), cmocka_unit_test(whole_documents),
        cmocka_unit_test(places),        cmocka_unit_test(written_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
