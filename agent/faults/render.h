/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a fault: a template of the catalogue with its arguments filled in. */
#pragma once

#include "base/text.h"
#include "faults/fault_type.h"

/* Appends `pattern`, one of the type's, to `out`; `arguments` is the struct of the type's table,
 * or NULL: then names stand in their places, "<name>", and nothing is left out. What is wrong in a
 * template stands as it is. */
void fault_render(const struct fault_type *type, const char *pattern, const void *arguments,
                  struct text *out);

/* Appends the key arguments, each followed by a newline: equal keys, equal bytes. */
void fault_render_key(const struct fault_type *type, const void *arguments, struct text *out);

/* Whether a template is well-formed and names arguments of its type only. NULL is. */
bool fault_template_is_sound(const struct fault_type *type, const char *pattern);
