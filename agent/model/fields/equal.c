// SPDX-License-Identifier: Apache-2.0
/*
 * Equality of what objects are made of. Values are compared member by member: their padding is not
 * part of them. Order counts in lists; a list that was only shuffled is a change that costs one
 * needless pass and no more.
 */
#include "model/fields/equal.h"

#include <string.h>

bool text_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool ips_equal(const struct ip *a, size_t a_count, const struct ip *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++) {
        if (!ip_equal(&a[i], &b[i]))
            return false;
    }
    return true;
}
