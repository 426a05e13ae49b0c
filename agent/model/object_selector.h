/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selectors as objects have them (metav1.LabelSelector: matchLabels and matchExpressions), in
 * lists of which one has to match. An empty selector matches everything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/fields/label_selector.h"

struct object_selector {
    const struct label_requirement *requirements;
    size_t requirement_count;
};

struct object_selectors {
    const struct object_selector *items;
    size_t count;
};

/* Whether one of them matches labels, which are sorted by name; false for an empty list. */
bool object_selectors_match(const struct object_selectors *selectors, const struct label *labels,
                            size_t count);
