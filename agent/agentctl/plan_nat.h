/* SPDX-License-Identifier: Apache-2.0 */
/* The services of a Plan, for people. */
#pragma once

#include "base/text.h"
#include "format/doc.h"

/* One line for each frontend in "nat"; nothing if there is none. */
void add_services(struct text *out, const struct doc *nat);
