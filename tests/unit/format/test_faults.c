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
        cmocka_unit_test(the_path_tells_two_faults_of_one_place_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
