// SPDX-License-Identifier: Apache-2.0
/* The JSON writer. */
#include <math.h>
#include <string.h>

#include "cmocka_all.h"
#include "format/doc_json.h"
#include "format/json.h"
#include "format/reader.h"

static void a_document_is_written(void **state)
{
    (void)state;
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    json_begin_object(&json, NULL);
    json_string(&json, "a", "x");
    json_string(&json, "none", NULL);
    json_begin_array(&json, "list");
    json_int(&json, NULL, -1);
    json_int(&json, NULL, INT64_MIN);
    json_begin_object(&json, NULL);
    json_end_object(&json);
    json_begin_array(&json, NULL);
    json_end_array(&json);
    json_bool(&json, NULL, true);
    json_end_array(&json);
    json_bool(&json, "no", false);
    json_null(&json, "null");
    json_stringf(&json, "f", "%d\"%s", 7, "\n");
    json_time(&json, "never", 0);
    json_time(&json, "then", INT64_C(1795160000123));
    json_end_object(&json);
    assert_string_equal(text_str(&out),
                        "{\"a\":\"x\",\"none\":null,\"list\":[-1,-9223372036854775808,{},[],true],"
                        "\"no\":false,\"null\":null,\"f\":\"7\\\"\\n\",\"never\":null,"
                        "\"then\":\"2026-11-20T07:33:20Z\"}");
}

/* As YAML's core schema and JSON have it: what only looks like a number is a string. */
static void a_document_is_passed_on(void **state)
{
    (void)state;
    static const char yaml[] =
        "{a: 1, b: -0.5e+3, c: 012, d: 100m, e: true, f: 'true', g: null, h: [], i: {}, j: 1.,"
        " k: '1', l: .5, m: \"x\\n\", n: 1e, o: -, p: yes}";
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    assert_int_equal(document_parse(yaml, strlen(yaml), "t", READER_YAML, &document, &faults), 1);
    json_doc(&json, NULL, document->root);
    assert_string_equal(text_str(&out),
                        "{\"a\":1,\"b\":-0.5e+3,\"c\":\"012\",\"d\":\"100m\",\"e\":true,"
                        "\"f\":\"true\",\"g\":null,\"h\":[],\"i\":{},\"j\":\"1.\","
                        "\"k\":\"1\",\"l\":\".5\",\"m\":\"x\\n\",\"n\":\"1e\",\"o\":\"-\","
                        "\"p\":\"yes\"}");
}

static void numbers_have_three_decimals(void **state)
{
    (void)state;
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    json_begin_array(&json, NULL);
    json_double(&json, NULL, 0);
    json_double(&json, NULL, 1.5);
    json_double(&json, NULL, -0.0004);
    json_double(&json, NULL, -12.3456);
    json_double(&json, NULL, 0.9996);
    json_double(&json, NULL, NAN);
    json_double(&json, NULL, INFINITY);
    json_double(&json, NULL, 1e300);
    json_end_array(&json);
    assert_string_equal(text_str(&out), "[0.000,1.500,0.000,-12.346,1.000,null,null,null]");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *value, *expected;
    } cases[] = {
        { "", "\"\"" },
        { "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
        { "\n\r\t\b\x1f\x7f", "\"\\n\\r\\t\\u0008\\u001f\\u007f\"" },
        { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { "a\xff"
          "b",
          "\"a\xef\xbf\xbd"
          "b\"" },
        /* A cut sequence is one, the byte after it stays. */
        { "\xe2\x82"
          "x",
          "\"\xef\xbf\xbdx\"" },
        { "\xe2\x82", "\"\xef\xbf\xbd\"" },
        { "\xe2\xc3\xa4", "\"\xef\xbf\xbd\xc3\xa4\"" },
        { "\xe2\"", "\"\xef\xbf\xbd\\\"\"" },
        { "x\xc3\xa4\xc3", "\"x\xc3\xa4\xef\xbf\xbd\"" },
        /* Overlong, surrogate, too large: each byte is one. */
        { "\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xf5", "\"\xef\xbf\xbd\"" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOTEXT struct text out = { 0 };
        struct json json = { .out = &out };
        json_string(&json, NULL, cases[i].value);
        assert_string_equal(text_str(&out), cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_is_written),
        cmocka_unit_test(a_document_is_passed_on),
        cmocka_unit_test(numbers_have_three_decimals),
        cmocka_unit_test(strings_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
