/* SPDX-License-Identifier: Apache-2.0 */
/* `--watch`: a verb again and again. */
#pragma once

#include "agentctl/verbs/verbs.h"

/* Runs the verb whenever there may be news, until it is interrupted. Returns an exit status that
 * ends it. */
int watch(const struct verb *verb, const struct ctl *ctl, char **args);
