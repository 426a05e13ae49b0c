// SPDX-License-Identifier: Apache-2.0
/*
 * Members of documents as the verbs want them; see field.h. A member that is missing reads as "-"
 * or 0, since an agent of another version may not have it.
 */
#include "agentctl/field.h"

#include <stdlib.h>
#include <string.h>

const char *field(const struct doc *map, const char *key)
{
    const struct doc *node = doc_get(map, key);
    return node && node->type == DOC_SCALAR ? node->text : "-";
}

int64_t field_int(const struct doc *map, const char *key)
{
    return strtoll(field(map, key), NULL, 10);
}

bool field_is(const struct doc *map, const char *key, const char *value)
{
    return strcmp(field(map, key), value) == 0;
}

/* The document's times have whole seconds: less than one is no finer than that. */
const char *field_ago(const struct doc *map, const char *key, char buffer[static CLOCK_STRLEN])
{
    int64_t wall_ms;

    if (clock_parse_rfc3339(field(map, key), &wall_ms) < 0)
        return NULL;
    int64_t age_ms = clock_wall_ms() - wall_ms;
    return age_ms < SECOND_MS ? "0s" : clock_ago(age_ms, buffer);
}
