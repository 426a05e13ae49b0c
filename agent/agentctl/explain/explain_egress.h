/* SPDX-License-Identifier: Apache-2.0 */
/* What egress has to do with an address, as lines of `agentctl explain`. */
#pragma once

#include "base/text.h"
#include "format/doc.h"

/* The member "egress" of an Explanation; nothing where there is none. */
void add_egress_explanation(struct text *out, const struct doc *egress);
