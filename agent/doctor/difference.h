/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two short texts. */
#pragma once

#include "base/text.h"

/*
 * Appends how to come from one text to the other: lines that go with "- ", that come with "+ ",
 * that stay with "  ". Returns 0 or -ENOMEM.
 */
int difference_add(const char *from, const char *to, struct text *out);
