/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels, and selectors of them as `kubectl -l` takes them:
 *
 *     role=gateway, zone in (a, b), tier!=test, rack notin (r7), fast, !broken
 *
 * A selector matches where each of its requirements does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct label {
    const char *name, *value;
};

int label_cmp(const void *a, const void *b); /* by name */

enum {
    LABEL_SELECTOR_MAX_LENGTH = 4096,
    LABEL_SELECTOR_MAX_REQUIREMENTS = 64,
    LABEL_SELECTOR_MAX_VALUES = 256, /* in all */
};

enum { LABELS_MAX = 256 }; /* of one object that count for selectors */

enum label_relation {
    LABEL_IS_ONE_OF,
    LABEL_IS_NONE_OF, /* or the label is not there */
    LABEL_EXISTS,
    LABEL_EXISTS_NOT,
};

struct label_requirement {
    const char *name;
    enum label_relation relation;
    const char *const *values;
    size_t value_count;
};

/* Whether labels, sorted by name, each name once, meet all requirements. */
bool label_requirements_met(const struct label_requirement *requirements, size_t requirement_count,
                            const struct label *labels, size_t count);

struct label_selector;

/* Why a text is no selector: the character at which it ends to be one, from 1, and what is wrong.
 */
struct label_selector_error {
    size_t column;
    const char *message; /* static: "expected a label's name" */
};

/* Returns 0; -EINVAL, with *ret_error; -ENOMEM. */
int label_selector_parse(const char *text, struct label_selector **ret_selector,
                         struct label_selector_error *ret_error);

/* `labels` are sorted by name, each name once. */
bool label_selector_matches(const struct label_selector *selector, const struct label *labels,
                            size_t count);

void label_selector_free(struct label_selector *selector);
DEFINE_CLEANUP(struct label_selector *, label_selector_free);
