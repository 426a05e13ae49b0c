/* SPDX-License-Identifier: Apache-2.0 */
/* Who has an address of a segment, in words, for `agentctl explain`. */
#pragma once

#include "base/text.h"
#include "format/doc.h"

/* The line of an explanation about its "claim"; NULL: none. */
void add_claim(struct text *out, const struct doc *claim);
