/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that a test made, by the codes of the catalogue. */
#pragma once

#include <string.h>

#include "base/fault.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "faults/fault_type.h"

static inline const char *code_of(const struct fault *fault)
{
    return fault->type ? fault->type->code : "uncoded";
}

/* The first fault of a code, or NULL. */
static inline const struct fault *find_raised(const struct faults *faults, const char *code)
{
    vec_each(const struct fault, fault, &faults->list) {
        if (strcmp(code_of(fault), code) == 0)
            return fault;
    }
    return NULL;
}

/* The first fault of a code; the test fails if there is none. */
static inline const struct fault *raised(const struct faults *faults, const char *code)
{
    const struct fault *fault = find_raised(faults, code);
    if (fault)
        return fault;
    vec_each(const struct fault, other, &faults->list)
        print_message("# have %s at %s: %s\n", code_of(other), other->place, other->message);
    fail_msg("no fault %s among %zu", code, faults->list.count);
    return NULL;
}

/* The list holds exactly these: a line "CODE at PLACE\n" for each, in order. */
static inline void assert_raised(const struct faults *faults, const char *expected)
{
    AUTOTEXT struct text got = { 0 };
    assert_false(faults->incomplete);
    vec_each(const struct fault, fault, &faults->list)
        text_addf(&got, "%s at %s\n", code_of(fault), fault->place);
    assert_string_equal(text_str(&got), expected);
}

/* As assert_raised(), with the message: "CODE at PLACE: MESSAGE\n"; each has a remedy. */
static inline void assert_told(const struct faults *faults, const char *expected)
{
    AUTOTEXT struct text got = { 0 };
    assert_false(faults->incomplete);
    vec_each(const struct fault, fault, &faults->list) {
        assert_non_null(fault->remedy);
        text_addf(&got, "%s at %s: %s\n", code_of(fault), fault->place, fault->message);
    }
    assert_string_equal(text_str(&got), expected);
}

/* The list holds this fault, in these words, at this place, and nothing else. */
static inline void assert_only_raised(const struct faults *faults, const char *code,
                                      const char *place, const char *message)
{
    const struct fault *fault = raised(faults, code);
    assert_int_equal(faults->list.count, 1);
    assert_string_equal(fault->place, place);
    assert_string_equal(fault->message, message);
}
