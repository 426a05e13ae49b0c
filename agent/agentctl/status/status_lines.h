/* SPDX-License-Identifier: Apache-2.0 */
/* What the screens of health have in common, be it the agent's or the controller's. */
#pragma once

#include <stddef.h>

#include "agentctl/ctl.h"
#include "base/text.h"
#include "format/doc.h"

/* Before what stands below a line. */
extern const char status_indent[];

/* A subsystem's title, its state word, and how it is in words. */
void add_line(struct text *out, const struct ctl *ctl, const char *title, const char *state,
              const char *summary);

/* The faults of one subsystem in a document that has "faults". */
size_t fault_count(const struct doc *status, const char *subsystem);
/* By the worst of them: "OK", which notices leave it at, "WARN" or "FAIL". */
const char *fault_state(const struct doc *status, const char *subsystem);
void add_faults(struct text *out, const struct ctl *ctl, const struct doc *status,
                const char *subsystem);

/* All faults of a FaultList: each cause, then what follows from it, in full with -v. */
void add_fault_list(struct text *out, const struct ctl *ctl, const struct doc *faults);

/* The exit status for a word of health. */
int health_exit(const char *health);
