// SPDX-License-Identifier: Apache-2.0
/* Lists of names. */
#include "model/fields/name_list.h"

#include <string.h>

bool name_list_has(const struct name_list *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], name) == 0)
            return true;
    }
    return false;
}
