/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at this machine as an operator would before agentd is started, and after: what each check
 * looks at, what it found, what it wanted, how to mend it.
 *
 * Nothing is changed. No agent is needed; where one runs, what only makes sense without one is left
 * out. Each check has a name that stays ("bird.session"), for scripts.
 */
#pragma once

#include <stdint.h>

#include "doctor/finding.h"

struct doctor_options {
    const char *config; /* the file */
    const char *socket; /* where agentd listens */
    int64_t timeout_ms; /* for each answer of BIRD and of the API */
};

/* Runs every check. Returns 0, or -errno if that was impossible (no memory, no netlink). */
int doctor_examine(const struct doctor_options *options, struct findings *ret_findings);
