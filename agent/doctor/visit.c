// SPDX-License-Identifier: Apache-2.0
/* How a check speaks: each word becomes a finding of the check that is at work. */
#include "doctor/visit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"

static void add(struct visit *visit, enum verdict verdict, const char *remedy, const char *format,
                va_list args)
{
    AUTOTEXT struct text found = { 0 }, mend = { 0 };
    struct finding finding = {
        .check = visit->check->name,
        .what = visit->check->what,
        .wanted = visit->check->wanted,
        .verdict = verdict,
    };

    text_vaddf(&found, format, args);
    if (remedy)
        text_add(&mend, remedy);
    finding.found = text_take(&found);
    finding.remedy = remedy ? text_take(&mend) : NULL;
    if (!finding.found || vec_push(&visit->findings->list, finding) < 0) {
        free(finding.found);
        free(finding.remedy);
        visit->error = -ENOMEM;
        return;
    }
    visit->findings->counts[verdict]++;
}

void visit_good(struct visit *visit, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(visit, VERDICT_OK, NULL, format, args);
    va_end(args);
}

void visit_skip(struct visit *visit, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(visit, VERDICT_SKIPPED, NULL, format, args);
    va_end(args);
}

void visit_warn(struct visit *visit, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(visit, VERDICT_WARNING, remedy, format, args);
    va_end(args);
}

void visit_fail(struct visit *visit, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(visit, VERDICT_FAILED, remedy, format, args);
    va_end(args);
}

bool visit_detect(struct visit *visit, const struct detector *detector,
                  const struct detector_facts *facts, const char *figures)
{
    AUTOFAULTS struct faults faults = { 0 };
    detector->detect(facts, &faults);
    if (faults.incomplete)
        visit->error = -ENOMEM;
    vec_each(const struct fault, fault, &faults.list) {
        if (fault->type->severity == FAULT_NOTICE)
            visit_warn(visit, fault->remedy, "%s: %s%s", fault->place, fault->message, figures);
        else
            visit_fail(visit, fault->remedy, "%s: %s%s", fault->place, fault->message, figures);
    }
    return faults.list.count > 0;
}
