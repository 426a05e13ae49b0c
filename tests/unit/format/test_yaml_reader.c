// SPDX-License-Identifier: Apache-2.0
/* YAML files: how they are cut, what is refused, and where. */
#include "reading.h"

#define assert_yaml(text, ...) assert_reads(READER_YAML, text, __VA_ARGS__)

static void documents_one_after_the_other(void **state)
{
    (void)state;
    assert_yaml("", "");
    assert_yaml("# nothing\n", "");
    assert_yaml("---\n---\n# nothing\n---\n", "");
    assert_yaml("a: 1\n---\nb: [x, \"y\"]\n---\n", "{a:1}\n{b:[x,\"y\"]}\n");
    assert_yaml("---\r\na: 1\r\n...\r\n---\r\n- b\r\n", "{a:1}\n[b]\n");
    assert_yaml("just text", "just text\n");
    assert_yaml("\xef\xbb\xbfname: \xc3\xa4", "{name:\xc3\xa4}\n");
    assert_yaml("{\"a\": {\"b\": [1, null]}}", "{a:{b:[1,null]}}\n");
}

static void scalars_are_text(void **state)
{
    (void)state;
    assert_yaml("a: on\nb: 012\nc: 1e3\nd: ~\ne:\nf: null\ng: 'null'\nh: \"\"\ni: |\n  x\n  y\n",
                "{a:on,b:012,c:1e3,d:null,e:null,f:null,g:\"null\",h:\"\",i:\"x\ny\n\"}\n");
    assert_yaml("a: Null\nb: NULL\nc: nUll\n", "{a:null,b:null,c:nUll}\n");
}

static void lists_are_cut(void **state)
{
    (void)state;
    assert_yaml("apiVersion: v1\nitems:\n- a: 1\n- b:\n  - 2\nkind: List\n", "{a:1}\n{b:[2]}\n");
    assert_yaml("items: []\nkind: List\n---\na: 1\n", "{a:1}\n");
    assert_yaml("items:\n- 1\n-\n---\nitems: [[2]]", "1\nnull\n[2]\n");
    assert_yaml("x:\n  items: [1]\n", "{x:{items:[1]}}\n");
    assert_yaml("items:\n  a: 1\n", "{items:{a:1}}\n");
    assert_yaml("- items\n- [1]\n", "[items,[1]]\n");
}

static void syntax_has_a_place(void **state)
{
    (void)state;
    assert_yaml("a: [1, 2\nb: 3\n",
                "f:2:2: did not find expected ',' or ']' while parsing a flow sequence that "
                "begins in line 1\n");
    assert_yaml("a: 1\n\tb: 2\n",
                "f:2:1: found a tab character that violates indentation while scanning a plain "
                "scalar that begins in line 1\n");
    assert_yaml("a: 1\n---\nb: \"x\n", "{a:1}\nf:4:1: found unexpected end of stream while "
                                       "scanning a quoted scalar that begins in line 3\n");
    assert_yaml("a: b: c\n", "f:1:5: mapping values are not allowed in this context\n");
}

static void what_says_more_than_it_shows_is_refused(void **state)
{
    (void)state;
    assert_yaml("a: !!str 1\n", "f:1:4: tags are not supported (here \"tag:yaml.org,2002:str\")\n");
    assert_yaml("a:\n  b: !x {}\n", "f:2:6: tags are not supported (here \"!x\")\n");
    assert_yaml("'<<': 1\n", "{<<:1}\n");
    assert_yaml("? [a]\n: 1\n", "f:1:3: a map or list can't be a key\n");
    assert_yaml("a: 1\n?\n: 2\n", "f:2:2: a key is missing\n");
    assert_yaml("a: \"x\\0y\"\n", "f:1:4: \\0 is not allowed in a string\n");
}

static void aliases_stand_for_what_they_name(void **state)
{
    (void)state;
    assert_yaml("a: &x 1\nb: *x\n", "{a:1,b:1}\n");
    assert_yaml("a: &x [1, {b: \"2\"}]\nc: *x\nd: [*x, *x]\n",
                "{a:[1,{b:\"2\"}],c:[1,{b:\"2\"}],d:[[1,{b:\"2\"}],[1,{b:\"2\"}]]}\n");
    assert_yaml("a: &x {b: &y 1}\nc: {d: *y, e: *x}\n", "{a:{b:1},c:{d:1,e:{b:1}}}\n");
    assert_yaml("a: &x 1\nb: &x 2\nc: *x\n", "{a:1,b:2,c:2}\n");
    assert_yaml("&x [1]\n", "[1]\n");
    assert_yaml("a: *x\n", "f:1:4: the alias \"x\" has no anchor before it\n");
    assert_yaml("a: &x 1\n---\nb: *x\n", "{a:1}\nf:3:4: the alias \"x\" has no anchor before it\n");
    assert_yaml("a: &x [1, *x]\n", "f:1:11: the alias \"x\" stands in what it names\n");
    assert_yaml("a: &x 1\n*x : 2\n", "f:2:1: a key can't have an anchor, nor be an alias\n");
    assert_yaml("&x a: 1\n", "f:1:1: a key can't have an anchor, nor be an alias\n");
}

static void aliases_in_items(void **state)
{
    (void)state;
    assert_yaml("base: &x {a: 1}\nitems:\n- *x\n- b: *x\n- &y [2, *x]\n",
                "{a:1}\n{b:{a:1}}\n[2,{a:1}]\n");
    assert_yaml("items:\n- a: &x 1\n  b: *x\n- c: *x\n",
                "{a:1,b:1}\nf:4:6: the alias \"x\" has no anchor before it in this item\n");
    assert_yaml("items: &x\n- 1\n", "f:1:8: the items of a list can't have an anchor as a whole\n");
    assert_yaml("all: &x\n  items:\n  - *x\n", "f:3:5: the alias \"x\" stands in what it names\n");
}

static void merge_keys_add_what_is_missing(void **state)
{
    (void)state;
    assert_yaml("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3, c: 4}\n", "{x:{a:1,b:2},y:{b:3,c:4,a:1}}\n");
    assert_yaml("x: &x {a: 1}\ny: &y {a: 2, b: {c: 3}}\nz:\n  <<: [*x, *y]\n",
                "{x:{a:1},y:{a:2,b:{c:3}},z:{a:1,b:{c:3}}}\n");
    assert_yaml("x: &x {a: 1}\ny: &y {<<: *x}\nz: [{<<: *y}, {<<: *x, <<: *y}]\n",
                "{x:{a:1},y:{a:1},z:[{a:1},{a:1}]}\n");
    assert_yaml("x: &x {}\ny: {<<: *x}\n", "{x:{},y:{}}\n");
    assert_yaml("a:\n  <<: {b: 1}\n",
                "f:2:7: a merge key (<<) takes an alias, or a list of aliases\n");
    assert_yaml("a:\n  <<:\n", "f:2:6: a merge key (<<) takes an alias, or a list of aliases\n");
    assert_yaml("x: &x [1]\ny: {<<: *x}\n", "f:2:9: a merge key (<<) takes maps; \"x\" is none\n");
}

/* Ten lines that stand for 10^9 parts; and a map that is looked through again and again. */
static void what_aliases_stand_for_is_limited(void **state)
{
    (void)state;
    AUTOTEXT struct text bomb = { 0 }, merges = { 0 };
    const struct reader_limits limits = { .file_bytes = 1 << 20,
                                          .document_bytes = 4 << 20,
                                          .depth = 30 };
    text_add(&bomb, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        text_addf(&bomb, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            text_addf(&bomb, "%s*a%d", j ? ", " : "", i - 1);
        text_add(&bomb, "]\n");
    }
    AUTOFREE char *big = read_bytes(bomb.data, bomb.length, READER_YAML, &limits);
    assert_non_null(strstr(big, ": the aliases stand for more than 65536 parts\n"));

    text_add(&merges, "a: &a {");
    for (int i = 0; i < 1000; i++)
        text_addf(&merges, "k%d: 1, ", i);
    text_add(&merges, "}\nb: {<<: [");
    for (int i = 0; i < 1000; i++)
        text_add(&merges, "*a, ");
    text_add(&merges, "]}\n");
    AUTOFREE char *long_way = read_bytes(merges.data, merges.length, READER_YAML, &limits);
    assert_non_null(strstr(long_way, ": the aliases stand for more than 65536 parts\n"));

    const struct reader_limits flat = { .file_bytes = 800, .document_bytes = 100, .depth = 3 };
    const char deep[] = "a: &x [[1]]\nb: [*x]\n";
    AUTOFREE char *found = read_bytes(deep, sizeof(deep) - 1, READER_YAML, &flat);
    assert_string_equal(found, "f:2:5: nested deeper than 3 levels\n");
}

static void duplicate_keys_are_refused(void **state)
{
    (void)state;
    assert_yaml("a: 1\nb:\n  c: 1\n  d: 1\n  \"c\": 2\n", "f:5:3: the key \"c\" is here twice\n");
    assert_yaml("z: 1\na: 1\nz: 1\na: 1\n", "f:3:1: the key \"z\" is here twice\n");
    assert_yaml("items: [1]\nkind: a\nitems: [2]\n", "1\n2\nf:3:1: the key \"items\" is here "
                                                     "twice\n");
    assert_yaml("- a: 1\n- a: 1\n", "[{a:1},{a:1}]\n");
}

static void bytes_have_a_place(void **state)
{
    (void)state;
    assert_yaml("a: 1\nb: x\xff\n", "f:2:5: byte 0xff is not valid UTF-8 here\n");
    assert_yaml("a: 1\nb: \0\n", "f:2:4: the character U+0000 (NUL) is not allowed\n");
    assert_yaml("a: \xc2\x80\n", "f:1:4: the character U+0080 is not allowed\n");
    assert_yaml("a: \x7f\n", "f:1:4: the character U+007F is not allowed\n");
    assert_yaml("\xfe\xff\0a", "f:1:1: the file is UTF-16; only UTF-8 is read\n");
}

#define assert_limited(limits, text, expected)                                        \
    ({                                                                                \
        AUTOFREE char *got = read_bytes(text, sizeof(text) - 1, READER_YAML, limits); \
        assert_string_equal(got, expected);                                           \
    })

static void limits_hold(void **state)
{
    (void)state;
    const struct reader_limits limits = { .file_bytes = 80, .document_bytes = 10, .depth = 3 };
    assert_limited(&limits, "[[[1]]]", "[[[1]]]\n");
    assert_limited(&limits, "-\n  - [[1]]", "f:2:6: nested deeper than 3 levels\n");
    assert_limited(&limits, "items: [[[[1]]]]", "[[[1]]]\n");
    assert_limited(&limits, "items: [[[[[1]]]]]", "f:1:12: nested deeper than 3 levels\n");
    assert_limited(&limits, "a: 123456789\n---\nb: 123456789\n", "{a:123456789}\n{b:123456789}\n");
    assert_limited(&limits, "a: 12345\nb:\n  12345\n",
                   "f:3:3: the document holds more than 10 bytes\n");
    assert_limited(&limits, "items: [123456789, 123456789]", "123456789\n123456789\n");
    assert_limited(&limits,
                   "a: 1 # 34567890123456789012345678901234567890\n"
                   "b: 1 # 34567890123456789012345678901234567890\n",
                   "f:2:35: the file is longer than 80 bytes\n");
}

static void long_scalars_stop_early(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    const struct reader_limits limits = { .file_bytes = UINT64_MAX,
                                          .document_bytes = 1 << 20,
                                          .depth = 3 };
    text_add(&text, "a: \"");
    for (int i = 0; i < 4 << 20; i++)
        text_add_char(&text, 'x');
    AUTOFREE char *got = read_bytes(text.data, text.length, READER_YAML, &limits);
    assert_non_null(strstr(got, ": more than 1048576 bytes without a value\n"));
}

static void parts_are_limited(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    const struct reader_limits limits = { .file_bytes = 1 << 20,
                                          .document_bytes = 4000,
                                          .depth = 3 };
    for (uint64_t i = 0; i < reader_max_nodes(&limits); i++)
        text_add(&text, "-\n");
    AUTOFREE char *got = read_bytes(text.data, text.length, READER_YAML, &limits);
    assert_string_equal(got, "f:1274:2: the document has more than 1274 parts\n");
}

static void chunks_do_not_matter(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    AUTOTEXT struct text expected = { 0 };
    text_add(&text, "items:\n");
    for (int i = 0; i < 12000; i++) {
        text_addf(&text, "- \xc3\xa4: %d\n  b: [\"%d\", {}]\n", i, i);
        text_addf(&expected, "{\xc3\xa4:%d,b:[\"%d\",{}]}\n", i, i);
    }
    text_add(&text, "x: *y\n");
    text_add(&expected, "f:24002:4: the alias \"y\" has no anchor before it\n");
    AUTOFREE char *got = read_bytes(text.data, text.length, READER_YAML, &reader_limits_default);
    assert_string_equal(got, text_str(&expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_one_after_the_other),
        cmocka_unit_test(scalars_are_text),
        cmocka_unit_test(lists_are_cut),
        cmocka_unit_test(syntax_has_a_place),
        cmocka_unit_test(what_says_more_than_it_shows_is_refused),
        cmocka_unit_test(aliases_stand_for_what_they_name),
        cmocka_unit_test(aliases_in_items),
        cmocka_unit_test(merge_keys_add_what_is_missing),
        cmocka_unit_test(what_aliases_stand_for_is_limited),
        cmocka_unit_test(duplicate_keys_are_refused),
        cmocka_unit_test(bytes_have_a_place),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(long_scalars_stop_early),
        cmocka_unit_test(parts_are_limited),
        cmocka_unit_test(chunks_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
