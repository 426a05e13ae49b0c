// SPDX-License-Identifier: Apache-2.0
/* The lines of a screen of health; see status_lines.h. */
#include "agentctl/status_lines.h"

#include <string.h>

#include "agentctl/field.h"
#include "agentctl/output.h"

enum { FAULTS_SHOWN = 3 }; /* of a subsystem, without -v: one screen is the promise */

const char status_indent[] = "              ";

size_t fault_count(const struct doc *status, const char *subsystem)
{
    size_t count = 0;
    doc_each(fault, doc_get(status, "faults")) {
        if (field_is(fault, "subsystem", subsystem))
            count++;
    }
    return count;
}

void add_faults(struct text *out, const struct ctl *ctl, const struct doc *status,
                const char *subsystem)
{
    size_t shown = 0;

    doc_each(fault, doc_get(status, "faults")) {
        if (!field_is(fault, "subsystem", subsystem))
            continue;
        if (ctl->verbose || shown < FAULTS_SHOWN)
            add_fault(out, fault, status_indent);
        shown++;
    }
    if (!ctl->verbose && shown > FAULTS_SHOWN)
        text_addf(out, "%s%zu more (agentctl faults)\n", status_indent, shown - FAULTS_SHOWN);
}

void add_line(struct text *out, const struct ctl *ctl, const char *title, const char *state,
              const char *summary)
{
    text_addf(out, "  %-10s  ", title);
    add_state(out, ctl, state, *summary ? 6 : 0);
    text_addf(out, "%s\n", summary);
}

int health_exit(const char *health)
{
    if (strcmp(health, "healthy") == 0)
        return EXIT_OK;
    return strcmp(health, "failed") == 0 ? EXIT_FAILED : EXIT_DIFFERS;
}
