// SPDX-License-Identifier: Apache-2.0
/* The table of kinds; see kind.h. The order is that of enum kind, since both are made of KINDS. */
#include "model/kind.h"

#include <string.h>

#define KIND_POINTER(constant, row) [constant] = &row,
static const struct kind_row *const kinds[] = { KINDS(KIND_POINTER) };
#undef KIND_POINTER

const struct kind_row *kind_row(enum kind kind)
{
    return kinds[kind];
}

const char *kind_name(enum kind kind)
{
    return kinds[kind]->name;
}

const char *kind_api_version(enum kind kind)
{
    return kinds[kind]->api_version;
}

enum kind kind_of(const char *api_version, const char *kind)
{
    for (enum kind i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kinds[i]->name, kind) == 0 && strcmp(kinds[i]->api_version, api_version) == 0)
            return i;
    }
    return KIND_COUNT;
}
