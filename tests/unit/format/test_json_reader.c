// SPDX-License-Identifier: Apache-2.0
/* JSON files: how they are cut, what is refused, and where. */
#include "reading.h"

#define assert_json(text, ...) assert_reads(READER_JSON, text, __VA_ARGS__)

static void values_one_after_the_other(void **state)
{
    (void)state;
    assert_json("", "");
    assert_json(" \n\t ", "");
    assert_json("{}", "{}\n");
    assert_json("{\"a\":1}{\"b\":[true,null,\"x\"]}\n[1]2 \"s\"",
                "{a:1}\n{b:[true,null,\"x\"]}\n[1]\n2\n\"s\"\n");
    assert_json("null", "null\n");
    assert_json("\xef\xbb\xbf{\"a\":\"\xc3\xa4\"}", "{a:\"\xc3\xa4\"}\n");
}

static void numbers_keep_their_text(void **state)
{
    (void)state;
    assert_json("[1e3, 99999999999999999999, -0, 0.50, -1.5E+2, {\"a\":7}]",
                "[1e3,99999999999999999999,-0,0.50,-1.5E+2,{a:7}]\n");
}

static void strings_are_decoded(void **state)
{
    (void)state;
    assert_json("[\"\\ud83d\\ude00\\/\\\"\\n\", \"]}\", \"\\\\\"]",
                "[\"\xf0\x9f\x98\x80/\"\n\",\"]}\",\"\\\"]\n");
}

static void lists_are_cut(void **state)
{
    (void)state;
    assert_json("{\"apiVersion\":\"v1\",\"items\":[{\"a\":1},{\"b\":\"]\"}],\"kind\":\"List\"}",
                "{a:1}\n{b:\"]\"}\n");
    assert_json("{\"kind\":\"List\",\"metadata\":{\"items\":[1]},\"items\" : [ ] }", "");
    assert_json("{\"items\":[\n 1 ,\r\n [2] ]} {\"a\":1}", "1\n[2]\n{a:1}\n");
    /* Not at the top, no list, not a key: nothing is cut. */
    assert_json("{\"x\":{\"items\":[1]}}", "{x:{items:[1]}}\n");
    assert_json("{\"items\":{\"a\":1}}", "{items:{a:1}}\n");
    assert_json("{\"items\":null}", "{items:null}\n");
    assert_json("{\"x\":\"items\",\"y\":[1]}", "{x:\"items\",y:[1]}\n");
    assert_json("{\"\\\"items\":[1]}", "{\"items:[1]}\n");
    assert_json("{\",\\\"items\":[1]}", "{,\"items:[1]}\n");
    assert_json("[\"items\",[1]]", "[\"items\",[1]]\n");
}

static void lists_have_commas(void **state)
{
    (void)state;
    assert_json("{\"items\":[1,]}", "1\nf:1:13: expected a value\n");
    assert_json("{\"items\":[,1]}", "f:1:11: expected a value\n");
    assert_json("{\"items\":[1,,2]}", "1\nf:1:13: expected a value\n");
    assert_json("{\"items\":[1 2]}", "f:1:13: unexpected character\n");
    assert_json("{\"items\":[1}", "f:1:12: expected a comma or a closing bracket\n");
    assert_json("{\"items\":[}", "f:1:11: expected a value\n");
}

static void syntax_has_a_place(void **state)
{
    (void)state;
    assert_json("{\n  \"a\": tru\n}", "f:2:11: boolean expected\n");
    assert_json("{\r\n  \"\xc3\xa4\xe2\x82\xac\": x}", "f:2:9: unexpected character\n");
    assert_json("{\"a\" 1}", "f:1:6: object property name separator ':' expected\n");
    assert_json("{\"a\":1,}", "f:1:8: unexpected character\n");
    assert_json("[1}", "f:1:3: array value separator ',' expected\n");
    assert_json("{} }", "{}\nf:1:4: unexpected character\n");
    assert_json("[01]", "f:1:4: number expected\n");
    assert_json("/* a */ {}", "f:1:1: unexpected character\n");
    /* In an element, and behind the list. */
    assert_json("{\"items\":[{\"a\":1},\n  {\"b\" 2}]}",
                "{a:1}\nf:2:8: object property name separator ':' expected\n");
    assert_json("{\"items\":[\n1,\n2],\n \"kind\" 1}",
                "1\n2\nf:4:9: object property name separator ':' expected\n");
    assert_json("{\"items\":[] x}", "f:1:13: object value separator ',' expected\n");
    assert_json("{\"kind\" 1, \"items\":[]}",
                "f:1:9: object property name separator ':' expected\n");
}

static void what_json_c_lets_pass_is_refused(void **state)
{
    (void)state;
    assert_json("[NaN]", "f:1:2: expected a number\n");
    assert_json("[1, -Infinity]", "f:1:5: expected a number\n");
    assert_json("{'a':1}", "f:1:2: strings stand in double quotes\n");
    assert_json("[1.]", "f:1:2: a digit must follow the decimal point\n");
    assert_json("[\"a\tb\"]",
                "f:1:4: a control character in a string must be written as an escape\n");
    assert_json("[\"a\",\n \"\\\\\\u0000\"]", "f:2:5: \\u0000 is not allowed\n");
    assert_json("{\"a\\u0000b\":1}", "f:1:4: \\u0000 is not allowed\n");
    assert_json("[\"\\\\u0000\"]", "[\"\\u0000\"]\n");
}

static void duplicate_keys_are_refused(void **state)
{
    (void)state;
    assert_json("{\"a\":1,\n \"b\":2,\n  \"a\":{\"c\":3}}", "f:3:3: the key \"a\" is here twice\n");
    assert_json("{\"x\":[{\"a\":{\"z\":1,\"z\":2}}]}", "f:1:19: the key \"z\" is here twice\n");
    assert_json("{\"b\":{\"p\":1},\"b\":{\"q\":1},\"a\":0,\"a\":0}",
                "f:1:14: the key \"b\" is here twice\n");
    assert_json("{\"a\":1,\"\\u0061\":2}", "f:1:8: the key \"a\" is here twice\n");
    assert_json("{\"items\":[1],\"kind\":1,\n\"kind\":2}",
                "1\nf:2:1: the key \"kind\" is here twice\n");
    assert_json("{\"items\":[1],\"items\":[2]}", "1\nf:1:22: the key \"items\" is here twice\n");
    assert_json("{\"items\":[1],\"items\":3}", "1\nf:1:14: the key \"items\" is here twice\n");
    assert_json("[{\"a\":1},{\"a\":1}]", "[{a:1},{a:1}]\n");
}

static void bytes_have_a_place(void **state)
{
    (void)state;
    assert_json("{\"a\":\n \"x\xff\"}", "f:2:4: byte 0xff is not valid UTF-8 here\n");
    assert_json("\"\xc3\xa4\xed\xa0\x80\"", "f:1:3: byte 0xa0 is not valid UTF-8 here\n");
    assert_json("\"\xc3", "f:1:3: the file ends inside a character\n");
    assert_json("{\"a\":\n \"\0\"}", "f:2:3: the character U+0000 (NUL) is not allowed\n");
    assert_json("{}\x01", "f:1:3: the character U+0001 is not allowed\n");
    assert_json("\xff\xfe{\0}\0", "f:1:1: the file is UTF-16; only UTF-8 is read\n");
}

static void truncated_files_are_broken(void **state)
{
    (void)state;
    assert_json("{\"a\":1}\n{\"b\": [\n",
                "{a:1}\nf:3:1: the text ends inside the value that begins in line 2\n");
    assert_json("\"abc\\", "f:1:6: the text ends inside the value that begins in line 1\n");
    assert_json("\n{\"items\":[{},\n{\"a",
                "{}\nf:3:4: the text ends inside the value that begins in line 2\n");
    assert_json("{\"items\":[{}]", "{}\nf:1:14: the text ends inside the value that begins in "
                                   "line 1\n");
}

#define assert_limited(limits, text, expected)                                        \
    ({                                                                                \
        AUTOFREE char *got = read_bytes(text, sizeof(text) - 1, READER_JSON, limits); \
        assert_string_equal(got, expected);                                           \
    })

static void limits_hold(void **state)
{
    (void)state;
    const struct reader_limits depth = { .file_bytes = 1000, .document_bytes = 1000, .depth = 3 };
    assert_limited(&depth, "[[[1]]]", "[[[1]]]\n");
    assert_limited(&depth, "[\n [[[1]]]]", "f:2:4: nested deeper than 3 levels\n");
    assert_limited(&depth, "[[[[", "f:1:4: nested deeper than 3 levels\n");
    assert_limited(&depth, "{\"items\":[[[[1]]]]}", "[[[1]]]\n");
    assert_limited(&depth, "{\"items\":[[[[{}]]]]}", "f:1:14: nested deeper than 3 levels\n");
    assert_limited(&depth, "[\"[[[[{{\\\"[[\"]", "[\"[[[[{{\"[[\"]\n");

    const struct reader_limits size = { .file_bytes = 50, .document_bytes = 10, .depth = 3 };
    assert_limited(&size, "[12345678]\n[12345678]", "[12345678]\n[12345678]\n");
    assert_limited(&size, "[1]\n [123456789]",
                   "[1]\nf:2:2: the value that begins here is longer than 10 bytes\n");
    assert_limited(&size, "\"123456789\"",
                   "f:1:1: the value that begins here is longer than 10 bytes\n");
    assert_limited(&size, "[1234567]\n[1234567]\n[1234567]\n[1234567]\n[1234567]\n[1234567]",
                   "f:6:1: the file is longer than 50 bytes\n");
}

static void parts_are_limited(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    const struct reader_limits limits = { .file_bytes = 10000,
                                          .document_bytes = 10000,
                                          .depth = 9 };
    text_add(&text, "[0");
    for (uint64_t i = 0; i < reader_max_nodes(&limits); i++)
        text_add(&text, ",0");
    text_add(&text, "]");
    AUTOFREE char *got = read_bytes(text.data, text.length, READER_JSON, &limits);
    assert_string_equal(got, "f:1:1: the value that begins here has more than 1649 parts\n");
}

/* Values lie across the ends of chunks at every offset. */
static void chunks_do_not_matter(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    AUTOTEXT struct text expected = { 0 };
    text_add(&text, "{\"items\":[");
    for (int i = 0; i < 12000; i++) {
        text_addf(&text, "%s\n{\"a\\\"\": \"\xc3\xa4\\\\%d\", \"b\": [%d, {}]}", i ? "," : "", i,
                  i);
        text_addf(&expected, "{a\":\"\xc3\xa4\\%d\",b:[%d,{}]}\n", i, i);
    }
    text_add(&text, "],\n x}");
    text_add(&expected, "f:12002:2: quoted object property name expected\n");
    AUTOFREE char *got = read_bytes(text.data, text.length, READER_JSON, &reader_limits_default);
    assert_string_equal(got, text_str(&expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_one_after_the_other),
        cmocka_unit_test(numbers_keep_their_text),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(lists_are_cut),
        cmocka_unit_test(lists_have_commas),
        cmocka_unit_test(syntax_has_a_place),
        cmocka_unit_test(what_json_c_lets_pass_is_refused),
        cmocka_unit_test(duplicate_keys_are_refused),
        cmocka_unit_test(bytes_have_a_place),
        cmocka_unit_test(truncated_files_are_broken),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(parts_are_limited),
        cmocka_unit_test(chunks_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
