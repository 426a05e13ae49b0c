/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the members of a document that came from the agent, or was made here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "format/doc.h"

/* The member as text; "-" if it is missing or null. Borrowed. */
const char *field(const struct doc *map, const char *key);
int64_t field_int(const struct doc *map, const char *key); /* 0 if missing */
bool field_is(const struct doc *map, const char *key, const char *value);
static inline bool field_true(const struct doc *map, const char *key)
{
    return field_is(map, key, "true");
}

/* How long ago a time in the document is, for people: "4m"; NULL if it is missing. */
const char *field_ago(const struct doc *map, const char *key, char buffer[static CLOCK_STRLEN]);
