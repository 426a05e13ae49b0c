// SPDX-License-Identifier: Apache-2.0
/* Selectors of labels: what is read, what is refused and where, and what they match. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "failing_heap.h"
#include "model/fields/label_selector.h"

/* Sorted by name. */
static const struct label labels[] = {
    { "empty", "" }, { "example.com/rack", "r7" }, { "in", "x" }, { "role", "gateway" },
    { "zone", "a" },
};

static bool matches(const char *text)
{
    CLEANUP(label_selector_freep) struct label_selector *selector = NULL;
    struct label_selector_error error = { 0 };
    if (label_selector_parse(text, &selector, &error) < 0)
        fail_msg("%s: %zu: %s", text, error.column, error.message);
    return label_selector_matches(selector, labels, ARRAY_SIZE(labels));
}

static void matches_by_labels(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool match;
    } cases[] = {
        { "role=gateway", true },
        { " role == gateway ", true },
        { "role=other", false },
        { "absent=gateway", false },
        { "role!=gateway", false },
        { "role!=other", true },
        { "absent!=gateway", true },
        { "role", true },
        { "absent", false },
        { "!absent", true },
        { "! role", false },
        { "empty=", true },
        { "empty=,role=gateway", true },
        { "role=", false },
        { "empty in ()", true },
        { "zone in (a,b)", true },
        { "zone in ( b , a )", true },
        { "zone in (b)", false },
        { "absent in (b)", false },
        { "zone notin (b,c)", true },
        { "zone notin (b,a)", false },
        { "absent notin (a)", true },
        { "example.com/rack=r7,role,!absent,zone in (a),zone notin (b)", true },
        { "role=gateway,zone=b", false },
        { "in", true },
        { "in in (x)", true },
        { "notin", false },
        { "zone=a,zone!=a", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (matches(cases[i].text) != cases[i].match)
            fail_msg("%s", cases[i].text);
    }
    CLEANUP(label_selector_freep) struct label_selector *selector = NULL;
    struct label_selector_error error;
    assert_int_equal(label_selector_parse("!a,b!=c", &selector, &error), 0);
    assert_true(label_selector_matches(selector, NULL, 0));
}

static void assert_refused_at(const char *text, size_t column, const char *message)
{
    struct label_selector *selector = NULL;
    struct label_selector_error error = { 0 };
    assert_int_equal(label_selector_parse(text, &selector, &error), -EINVAL);
    assert_null(selector);
    if (error.column != column || !strstr(error.message, message))
        fail_msg("%s: %zu: %s", text, error.column, error.message);
}

static void names_what_it_cannot_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t column;
        const char *message;
    } cases[] = {
        { "", 1, "is empty" },
        { "  ", 3, "is empty" },
        { "a,", 3, "expected a label's name" },
        { ",a", 1, "expected a label's name" },
        { "a b", 3, "expected a comma" },
        { "a=b=c", 4, "expected a comma" },
        { "a=b/c", 3, "no label's value" },
        { "a=-", 3, "no label's value" },
        { "-a", 1, "no label's name" },
        { "/a", 1, "no label's name" },
        { "x/", 1, "no label's name" },
        { "a in b", 6, "expected (" },
        { "a in (b", 8, "expected , or )" },
        { "a in (b c)", 9, "expected , or )" },
        { "a notin (b", 11, "expected , or )" },
        { "!a=b", 3, "expected a comma" },
        { "a>1", 2, "expected a comma" },
        { "\xc3\xa4", 1, "expected a label's name" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_refused_at(cases[i].text, cases[i].column, cases[i].message);
}

static void add_times(struct text *text, const char *part, size_t times)
{
    for (size_t i = 0; i < times; i++)
        text_add(text, part);
}

static void is_bounded(void **state)
{
    (void)state;
    AUTOTEXT struct text requirements = { 0 }, values = { 0 }, name = { 0 }, blanks = { 0 };
    add_times(&requirements, "zone,", LABEL_SELECTOR_MAX_REQUIREMENTS - 1);
    text_add(&requirements, "zone");
    assert_true(matches(text_str(&requirements)));
    text_add(&requirements, ",zone");
    assert_refused_at(text_str(&requirements), 5 * LABEL_SELECTOR_MAX_REQUIREMENTS + 1,
                      "more requirements");
    text_add(&values, "empty in (");
    add_times(&values, ",", LABEL_SELECTOR_MAX_VALUES - 1);
    text_add(&values, ")");
    assert_true(matches(text_str(&values)));
    text_truncate(&values, values.length - 1);
    text_add(&values, ",)");
    assert_refused_at(text_str(&values), 11 + LABEL_SELECTOR_MAX_VALUES, "more values");
    add_times(&name, "n", 64);
    assert_refused_at(text_str(&name), 1, "no label's name");
    add_times(&blanks, " ", LABEL_SELECTOR_MAX_LENGTH - 4);
    text_add(&blanks, "zone");
    assert_true(matches(text_str(&blanks)));
    text_add(&blanks, " ");
    assert_refused_at(text_str(&blanks), LABEL_SELECTOR_MAX_LENGTH + 1, "too long");
}

static void memory_may_be_out(void **state)
{
    (void)state;
    struct label_selector *selector = NULL;
    struct label_selector_error error;
    assert_int_equal(with_heap(0, label_selector_parse("a", &selector, &error)), -ENOMEM);
    assert_null(selector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_by_labels),
        cmocka_unit_test(names_what_it_cannot_read),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(memory_may_be_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
