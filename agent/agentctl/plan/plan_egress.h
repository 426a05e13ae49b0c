/* SPDX-License-Identifier: Apache-2.0 */
/* Egress for people: "egress:" and "gateway:" of a Plan. */
#pragma once

#include "base/text.h"
#include "format/doc.h"

/* Nothing if `egress` is null. */
void add_egress(struct text *out, const struct doc *egress);
