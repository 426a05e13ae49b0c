/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A detector: one judgement about facts, as a row of a table.
 *
 * The function is pure: no system call, no clock, no log. It adds the faults that the facts show
 * now. How long a fault must be seen before it is raised, and how long it stays after it was last
 * seen, are columns of the row (detection.h). agentd runs all rows (engine/detectors/), and
 * `agentctl doctor` runs single ones, with the same facts and messages.
 *
 * How to add one: docs/contributing.md.
 */
#pragma once

#include "base/fault.h"
#include "detect/facts.h"
#include "faults/fault_type.h"

struct detector {
    const char *name;                      /* "tracking"; unique */
    const char *subsystem, *group;         /* of the fault book */
    const struct fault_type *const *codes; /* all codes that it raises: DETECTOR_CODES(...) */
    unsigned facts;                        /* kinds of facts (enum fact_kind) that it uses */
    int64_t period_ms; /* how often agentd reads these, in steps of DETECTORS_PERIOD_MS; 0: the
                          reader of the facts runs the row at once */
    int64_t hold_ms;   /* a fault is raised when it was seen for this long; 0: at once */
    int64_t linger_ms; /* it is cleared when it was not seen for this long; 0: at once */
    /* Whether agentd runs the row; NULL: always. doctor runs it whenever its check runs. */
    bool (*wanted)(const struct config *config);
    void (*detect)(const struct detector_facts *facts, struct faults *faults);
    /* With FACT_OBJECTS: whether a changed object may alter the result. */
    bool (*touched)(const struct detector_facts *facts, const struct change *change);
    /* With FACT_SERVICE: adds the fault with the number of further ones. */
    void (*rest)(int64_t count, struct faults *faults);
};

enum { DETECTORS_PERIOD_MS = 1000, SERVICE_DETECTORS = 3 };

enum { DETECTOR_UNITS_TOLD = 32 }; /* that are reported by name; the others are counted */

#define DETECTOR_CODES(...) ((const struct fault_type *const[]){ __VA_ARGS__, NULL })

/* The tables of detectors, by subject; each ends with a NULL name. */
extern const struct detector host_detectors[];
extern const struct detector bgp_detectors[];
extern const struct detector object_detectors[];
extern const struct detector service_detectors[SERVICE_DETECTORS + 1];

/* All of them; ends with NULL. */
extern const struct detector *const detector_tables[];

/* The detector of a name; NULL: there is none. */
const struct detector *detector_find(const char *name);
