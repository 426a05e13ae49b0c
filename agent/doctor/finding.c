// SPDX-License-Identifier: Apache-2.0
/* Findings as values; see finding.h. */
#include "doctor/finding.h"

#include <stdlib.h>

const char *const verdict_names[VERDICTS] = {
    [VERDICT_OK] = "ok",
    [VERDICT_SKIPPED] = "skipped",
    [VERDICT_WARNING] = "warning",
    [VERDICT_FAILED] = "failed",
};

void findings_done(struct findings *findings)
{
    vec_each(struct finding, finding, &findings->list) {
        free(finding->found);
        free(finding->remedy);
    }
    vec_done(&findings->list);
}
