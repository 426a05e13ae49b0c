/* SPDX-License-Identifier: Apache-2.0 */
/* All kinds of faults, in the order of their tables. */
#pragma once

#include "faults/fault_type.h"

size_t fault_catalogue_count(void);
const struct fault_type *fault_catalogue_at(size_t index);

/* The kind of a code, or NULL. */
const struct fault_type *fault_catalogue_find(const char *code);
