// SPDX-License-Identifier: Apache-2.0
/*
 * Each row of the catalogue: its code, its words, and that its fault stays the same fault, with the
 * time since when it holds, whatever its arguments become.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmocka_all.h"
#include "faults/catalogue.h"
#include "faults/raise.h"
#include "faults/render.h"
#include "samples.h"
#include "status/fault_book.h"

/* All arguments of a kind alike. */
static void fill(const struct fault_type *type, const char *key, const char *text, int64_t number,
                 union slot *slots)
{
    memset(slots, 0, MAX_ARGUMENTS * sizeof(*slots));
    for (size_t i = 0; type->arguments[i].name; i++) {
        const struct fault_argument *argument = &type->arguments[i];
        assert_true(i < MAX_ARGUMENTS);
        if (argument->kind == FAULT_NUMBER_ARGUMENT)
            slots[i].number = number;
        else
            slots[i].text = argument->is_key ? key : text;
    }
}

static int replace(struct fault_book *book, const struct fault_type *type, const union slot *slots,
                   int64_t wall_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    fault_raise_type(&faults, "place", type, slots);
    assert_false(faults.incomplete);
    return fault_book_replace(book, "s", "g", &faults, wall_ms);
}

#define each_type(type)                                                 \
    for (size_t index_ = 0; index_ < fault_catalogue_count(); index_++) \
        for (const struct fault_type *type = fault_catalogue_at(index_); type; type = NULL)

static void a_fault_keeps_its_time_whatever_its_arguments_become(void **state)
{
    (void)state;
    each_type(type)
    {
        CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
        union slot slots[MAX_ARGUMENTS];
        fill(type, "key", "one", 1, slots);
        assert_int_equal(replace(book, type, slots, 1000), 1);
        fill(type, "key", "another", 23, slots);
        assert_int_equal(replace(book, type, slots, 2000), 0);
        assert_int_equal(fault_book_count(book), 1);
        const struct known_fault *fault = fault_book_at(book, 0);
        assert_int_equal(fault->since_wall_ms, 1000);
        AUTOTEXT struct text words = { 0 };
        fault_render(type, type->message, slots, &words);
        assert_string_equal(fault->message, text_str(&words));
    }
}

static bool has_key(const struct fault_type *type)
{
    for (size_t i = 0; type->arguments[i].name; i++)
        if (type->arguments[i].is_key)
            return true;
    return false;
}

static void another_key_is_another_fault(void **state)
{
    (void)state;
    each_type(type)
    {
        CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
        union slot slots[MAX_ARGUMENTS];
        fill(type, "key", "text", 2, slots);
        replace(book, type, slots, 1000);
        fill(type, "other", "text", 2, slots);
        assert_int_equal(replace(book, type, slots, 2000), has_key(type));
    }
}

static void assert_code(const char *code)
{
    assert_true(islower((unsigned char)code[0]));
    for (const char *at = code; *at; at++)
        assert_true(islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '-');
}

static void codes_are_words_with_dashes_and_each_is_one(void **state)
{
    (void)state;
    assert_true(fault_catalogue_count() > 0);
    each_type(type)
    {
        assert_code(type->code);
        assert_ptr_equal(fault_catalogue_find(type->code), type);
    }
    assert_null(fault_catalogue_find("none-such"));
}

static void words_are_there_and_name_arguments_of_their_own(void **state)
{
    (void)state;
    each_type(type)
    {
        size_t length = strlen(type->message), meaning = strlen(type->meaning);
        assert_true(*type->subject != '\0');
        assert_true(length > 0 && type->message[length - 1] != '.');
        assert_true(meaning > 0 && type->meaning[meaning - 1] == '.');
        assert_true(*type->since != '\0');
        if (!fault_template_is_sound(type, type->message) ||
            !fault_template_is_sound(type, type->remedy))
            fail_msg("a template of %s", type->code);
    }
}

/* A row without `follows` is no cause of itself either. */
static void what_a_fault_follows_from_is_in_the_catalogue(void **state)
{
    (void)state;
    each_type(type)
    {
        char codes[512], *rest = codes;
        assert_true(snprintf(codes, sizeof(codes), "%s", type->follows ? type->follows : "") <
                    (int)sizeof(codes));
        for (char *code = strtok_r(rest, ", ", &rest); code; code = strtok_r(NULL, ", ", &rest)) {
            const struct fault_type *cause = fault_catalogue_find(code);
            assert_non_null(cause);
            assert_null(cause->follows); /* so there is neither a circle nor a chain */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_keeps_its_time_whatever_its_arguments_become),
        cmocka_unit_test(another_key_is_another_fault),
        cmocka_unit_test(codes_are_words_with_dashes_and_each_is_one),
        cmocka_unit_test(words_are_there_and_name_arguments_of_their_own),
        cmocka_unit_test(what_a_fault_follows_from_is_in_the_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
