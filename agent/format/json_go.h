/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON exactly as Go's encoding/json writes what it has read into an `interface{}`: members sorted
 * by name, numbers through a double, `<`, `>` and `&` escaped. Documents that another program wrote
 * can so be compared byte for byte.
 */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "format/doc.h"

/* A string in quotes. Bytes that are not UTF-8 become U+FFFD. */
void json_go_string(struct text *out, const char *string);

/*
 * A JSON value that was read (format/reader.h). Returns 0, -ERANGE where a number does not fit into
 * a double, or -ENOMEM.
 */
int json_go_value(struct text *out, const struct doc *value);

/* Whether a scalar is a number, and which; +-HUGE_VAL where it does not fit. */
bool json_go_number(const struct doc *scalar, double *ret_value);

/* The members of a map in order of their names, in memory that the caller frees; NULL: no memory,
 * or the map is empty. */
const struct doc **json_go_members(const struct doc *map);
