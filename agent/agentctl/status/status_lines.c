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

static bool is_of(const struct doc *fault, const char *subsystem)
{
    return !subsystem || field_is(fault, "subsystem", subsystem);
}

static bool is_effect(const struct doc *fault, const struct doc *cause)
{
    const struct doc *follows = doc_get(fault, "follows");
    return follows && field_is(cause, "code", field(follows, "code")) &&
           field_is(cause, "place", field(follows, "place"));
}

/* The first fault of the subsystem (NULL: of all) from which this one follows. */
static const struct doc *listed_cause(const struct doc *faults, const char *subsystem,
                                      const struct doc *fault)
{
    if (!doc_get(fault, "follows"))
        return NULL;
    doc_each(cause, faults) {
        if (is_of(cause, subsystem) && is_effect(fault, cause))
            return cause;
    }
    return NULL;
}

/* A fault, and below it those that follow from it: a count, but for what has failed. Returns how
 * many there are in all; adds nothing to an `out` of NULL. */
static size_t add_folded(struct text *out, const struct ctl *ctl, const struct doc *faults,
                         const char *subsystem, const struct doc *cause, const char *indent)
{
    AUTOTEXT struct text below = { 0 };
    size_t count = 1, left = 0;
    text_addf(&below, "%s  ", indent);
    if (out)
        add_fault(out, cause, indent);
    doc_each(fault, faults) {
        if (!is_of(fault, subsystem) || !is_effect(fault, cause) ||
            listed_cause(faults, subsystem, fault) != cause)
            continue;
        const bool told = ctl->verbose || field_is(fault, "severity", "failed");
        if (out && told)
            add_fault(out, fault, text_str(&below));
        left += !told;
        count++;
    }
    if (out && left)
        text_addf(out, "%sand %zu that %s (-v shows %s)\n", text_str(&below), left,
                  left == 1 ? "follows" : "follow", left == 1 ? "it" : "them");
    return count;
}

/* What comes first: faults of the host, of objects, then what follows from another subsystem's. */
enum { FAULT_RANKS = 3 };

static int fault_rank(const struct doc *fault)
{
    if (doc_get(fault, "follows"))
        return 2;
    return is_of_object(fault) ? 1 : 0;
}

void add_faults(struct text *out, const struct ctl *ctl, const struct doc *status,
                const char *subsystem)
{
    const struct doc *faults = doc_get(status, "faults");
    size_t shown = 0, left = 0;

    for (int rank = 0; rank < FAULT_RANKS; rank++) {
        doc_each(fault, faults) {
            if (!is_of(fault, subsystem) || fault_rank(fault) != rank ||
                listed_cause(faults, subsystem, fault))
                continue;
            const bool told = ctl->verbose || shown++ < FAULTS_SHOWN;
            size_t count =
                add_folded(told ? out : NULL, ctl, faults, subsystem, fault, status_indent);
            left += told ? 0 : count;
        }
    }
    if (left)
        text_addf(out, "%s%zu more (agentctl faults)\n", status_indent, left);
}

void add_fault_list(struct text *out, const struct ctl *ctl, const struct doc *faults)
{
    doc_each(fault, faults) {
        if (!listed_cause(faults, NULL, fault))
            (void)add_folded(out, ctl, faults, NULL, fault, "");
    }
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
