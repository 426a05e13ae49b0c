/* SPDX-License-Identifier: Apache-2.0 */
/* What a detector finds by given facts. */
#pragma once

#include "detect/detector.h"

#include "raised.h"

/* The detector of that name finds exactly these, as for assert_raised(), and its row lists their
 * codes. */
static inline void assert_found(const char *name, const struct detector_facts *facts,
                                const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct detector *detector = detector_find(name);
    assert_non_null(detector);
    detector->detect(facts, &faults);
    assert_raised(&faults, expected);
    vec_each(const struct fault, fault, &faults.list) {
        bool listed = false;
        for (size_t i = 0; detector->codes[i]; i++)
            listed |= detector->codes[i] == fault->type;
        assert_true(listed);
    }
}
