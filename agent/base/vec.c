// SPDX-License-Identifier: Apache-2.0
/* The growth of arrays: doubling, with every multiplication checked; and what loops would repeat.
 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int vec_reserve_raw(void **items, size_t count, size_t *capacity, size_t size, size_t more)
{
    if (more > SIZE_MAX / 2 - count)
        return -ENOMEM;
    size_t need = count + more;
    if (need <= *capacity)
        return 0;

    size_t grown = *capacity ? *capacity * 2 : 8;
    if (grown < need)
        grown = need;
    void *bigger = reallocarray(*items, grown, size);
    if (!bigger)
        return -ENOMEM;
    *items = bigger;
    *capacity = grown;
    return 0;
}

size_t vec_drop_equal_raw(void *items, size_t count, size_t size,
                          int (*compare)(const void *a, const void *b))
{
    char *base = items;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && compare(base + (kept - 1) * size, base + i * size) == 0)
            continue;
        if (kept != i)
            memcpy(base + kept * size, base + i * size, size);
        kept++;
    }
    return kept;
}
