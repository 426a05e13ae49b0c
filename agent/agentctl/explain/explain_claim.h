/* SPDX-License-Identifier: Apache-2.0 */
/* Who has an address of a segment, in words, for `agentctl explain`. */
#pragma once

#include <stdbool.h>

#include "agentctl/ctl.h"
#include "base/text.h"
#include "format/doc.h"

/* The first line about an address that is claimed: whose it is. Returns false of all others. */
bool add_claimed(struct text *out, const struct ctl *ctl, const struct doc *answer);

/* The line of an explanation about its "claim"; NULL: none. */
void add_claim(struct text *out, const struct doc *claim);
