/* SPDX-License-Identifier: Apache-2.0 */
/* `agentctl status --wait=DURATION`. */
#pragma once

#include "agentctl/answer.h"

/*
 * Returns EXIT_OK with the Status document in which all that was observed when first asked is
 * applied. Otherwise says what it waited for, and returns EXIT_DIFFERS after the duration, or
 * another status where waiting is of no use.
 */
int status_wait(const struct ctl *ctl, struct answer *ret);
