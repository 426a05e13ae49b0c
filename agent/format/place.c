// SPDX-License-Identifier: Apache-2.0
/*
 * Places in files and the faults that name them: all that this room finds wrong is reported
 * through here, so that every report has the same form, "file:line:column".
 */
#include "format/place.h"

#include <errno.h>

#include "base/text.h"

struct place place_after(struct place start, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        place_step(&start, bytes[i]);
    return start;
}

int place_raise_type(struct place place, const char *file, struct faults *faults,
                     const struct fault_type *type, const void *arguments)
{
    AUTOTEXT struct text where = { 0 };
    text_addf(&where, "%s:%u:%u", file, place.line, place.column);
    fault_raise_type(faults, text_error(&where) < 0 ? NULL : text_str(&where), type, arguments);
    return -EBADMSG;
}
