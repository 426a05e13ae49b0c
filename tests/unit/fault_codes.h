/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a list, by their kinds. */
#pragma once

#include <string.h>

#include "base/fault.h"
#include "cmocka_all.h"
#include "faults/fault_type.h"

/* The first fault of the kind, or NULL. */
static inline const struct fault *fault_of(const struct faults *faults,
                                           const struct fault_type *type)
{
    vec_each(const struct fault, fault, &faults->list) {
        if (fault->type == type)
            return fault;
    }
    return NULL;
}

/* The list holds this kind, in these words, at this place, and nothing else. */
static inline void assert_only_fault(const struct faults *faults, const struct fault_type *type,
                                     const char *place, const char *message)
{
    const struct fault *fault = fault_of(faults, type);
    vec_each(const struct fault, other, &faults->list)
        print_message("# have %s: %s\n", other->place, other->message);
    assert_non_null(fault);
    assert_int_equal(faults->list.count, 1);
    assert_string_equal(fault->place, place);
    assert_string_equal(fault->message, message);
}

/* "" of one that is not in the catalogue, and where there is none. */
static inline const char *fault_code_at(const struct faults *faults, size_t index)
{
    const struct fault_type *type =
        index < faults->list.count ? faults->list.items[index].type : NULL;
    return type ? type->code : "";
}

#define assert_fault(faults, index, code) assert_string_equal(fault_code_at(faults, index), code)
