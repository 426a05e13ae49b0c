// SPDX-License-Identifier: Apache-2.0
/*
 * The words of each row of the catalogue as an operator reads them, with sample arguments: compared
 * with rendered.txt. Where a template has other words for one of something, or leaves words out, it
 * is rendered so as well.
 *
 * `GOLDEN_UPDATE=1 tools/test unit` writes rendered.txt anew: review the difference.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "faults/catalogue.h"
#include "faults/render.h"
#include "samples.h"

static void render_line(const struct fault_type *type, const char *name, const char *pattern,
                        const union slot *slots, struct text *out)
{
    text_addf(out, "  %s: ", name);
    fault_render(type, pattern, slots, out);
    text_add_char(out, '\n');
}

static void render_words(const struct fault_type *type, const union slot *slots, struct text *out)
{
    render_line(type, "message", type->message, slots, out);
    if (type->remedy)
        render_line(type, "remedy", type->remedy, slots, out);
}

static void make_one(const struct fault_type *type, size_t slot, union slot *slots)
{
    if (type->arguments[slot].kind == FAULT_NUMBER_ARGUMENT)
        slots[slot].number = 1;
}

static void make_empty(const struct fault_type *type, size_t slot, union slot *slots)
{
    (void)type;
    slots[slot] = (union slot){ 0 };
}

/* Whether the words of one pattern, its arguments' values aside, depend on an argument. */
static bool is_chosen_by(const char *pattern, const char *name)
{
    AUTOFREE char *choice = text_format("{%s:", name);
    return pattern && strstr(pattern, choice);
}

/* Whether {name} stands in brackets. "[[" is no bracket. */
static bool is_optional_by(const char *pattern, const char *name)
{
    AUTOFREE char *argument = text_format("{%s}", name);
    bool inside = false;
    for (const char *at = pattern; at && *at; at++) {
        if (*at == '[' && at[1] == '[')
            at++;
        else if (*at == '[' || *at == ']')
            inside = *at == '[';
        else if (inside && strncmp(at, argument, strlen(argument)) == 0)
            return true;
    }
    return false;
}

struct variant {
    const char *name;
    bool (*concerns)(const char *pattern, const char *name);
    void (*make)(const struct fault_type *type, size_t slot, union slot *slots);
};

static const struct variant variants[] = {
    { "of one", is_chosen_by, make_one },
    { "without what may be left out", is_optional_by, make_empty },
};

static void render_variant(const struct fault_type *type, const struct variant *variant,
                           struct text *out)
{
    union slot slots[MAX_ARGUMENTS];
    bool any = false;
    sample_arguments(type, slots);
    for (size_t i = 0; type->arguments[i].name; i++) {
        const char *name = type->arguments[i].name;
        if (!variant->concerns(type->message, name) && !variant->concerns(type->remedy, name))
            continue;
        variant->make(type, i, slots);
        any = true;
    }
    if (!any)
        return;
    text_addf(out, "  %s:\n", variant->name);
    render_words(type, slots, out);
}

static void render_type(const struct fault_type *type, struct text *out)
{
    union slot slots[MAX_ARGUMENTS];
    sample_arguments(type, slots);
    text_addf(out, "%s, %s, at %s\n", type->code, fault_severity_name(type->severity),
              type->subject);
    render_words(type, slots, out);
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
        render_variant(type, &variants[i], out);
    text_addf(out, "  meaning: %s\n\n", type->meaning);
}

static char *read_all(const char *path)
{
    AUTOTEXT struct text text = { 0 };
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof(piece), file)) > 0;)
        text_add_bytes(&text, piece, n);
    assert_int_equal(fclose(file), 0);
    return text_take(&text);
}

static void write_all(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The line in which two texts differ first. */
static void tell_difference(const char *got, const char *expected)
{
    size_t line = 0;
    for (size_t at = 0; got[at] && got[at] == expected[at]; at++)
        if (got[at] == '\n')
            line = at + 1;
    fail_msg("rendered: %.*s\nexpected: %.*s", (int)strcspn(got + line, "\n"), got + line,
             (int)strcspn(expected + line, "\n"), expected + line);
}

static void each_row_is_rendered_as_expected(void **state)
{
    (void)state;
    AUTOTEXT struct text got = { 0 };
    for (size_t i = 0; i < fault_catalogue_count(); i++)
        render_type(fault_catalogue_at(i), &got);
    if (getenv("GOLDEN_UPDATE"))
        write_all(RENDERED, text_str(&got));
    AUTOFREE char *expected = read_all(RENDERED);
    if (strcmp(text_str(&got), expected) != 0)
        tell_difference(text_str(&got), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_rendered_as_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
