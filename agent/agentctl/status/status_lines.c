// SPDX-License-Identifier: Apache-2.0
/* The lines of a screen of health; see status_lines.h. */
#include "agentctl/status/status_lines.h"

#include <string.h>

#include "agentctl/field.h"
#include "agentctl/output.h"
#include "base/macro.h"

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

const char *fault_state(const struct doc *status, const char *subsystem)
{
    const char *state = "OK";
    doc_each(fault, doc_get(status, "faults")) {
        if (!field_is(fault, "subsystem", subsystem) || field_is(fault, "severity", "notice"))
            continue;
        if (field_is(fault, "severity", "failed"))
            return "FAIL";
        state = "WARN";
    }
    return state;
}

/* Of one object among many; else it is of the host, and what is told of objects may follow from it.
 */
static bool is_of_object(const struct doc *fault)
{
    static const char *const kinds[] = { "Service ", "EndpointSlice ", "Pod " };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strncmp(field(fault, "place"), kinds[i], strlen(kinds[i])) == 0)
            return true;
    }
    return false;
}

void add_faults(struct text *out, const struct ctl *ctl, const struct doc *status,
                const char *subsystem)
{
    size_t shown = 0;

    for (int objects = 0; objects < 2; objects++) {
        doc_each(fault, doc_get(status, "faults")) {
            if (!field_is(fault, "subsystem", subsystem) || is_of_object(fault) != objects)
                continue;
            if (ctl->verbose || shown < FAULTS_SHOWN)
                add_fault(out, fault, status_indent);
            shown++;
        }
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
