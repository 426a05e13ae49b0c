/* SPDX-License-Identifier: Apache-2.0 */
/* What a check has found: one line of the result. */
#pragma once

#include <stdint.h>

#include "base/vec.h"

enum verdict { VERDICT_OK, VERDICT_SKIPPED, VERDICT_WARNING, VERDICT_FAILED, VERDICTS };
extern const char *const verdict_names[VERDICTS];

/* One line of the result. */
struct finding {
    const char *check;  /* "config.node" */
    const char *what;   /* what was looked at */
    const char *wanted; /* how it should be */
    enum verdict verdict;
    char *found;
    char *remedy; /* NULL: nothing to mend */
};

struct findings {
    VEC(struct finding) list;
    int64_t counts[VERDICTS];
};

void findings_done(struct findings *findings);
