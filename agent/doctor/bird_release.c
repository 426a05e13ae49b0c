// SPDX-License-Identifier: Apache-2.0
#include "doctor/bird_release.h"

#include <string.h>

const char *bird_release_of(const char *text, int *ret_length)
{
    const char *line = strstr(text, "\ndefine FINGERPOST_RELEASE_");
    const char *begin = line ? strchr(line, '"') : NULL;
    const char *end = begin ? strchr(begin + 1, '"') : NULL;

    if (!end || strcspn(line + 1, "\n") < (size_t)(end - line))
        return NULL;
    *ret_length = (int)(end - begin - 1);
    return begin + 1;
}
