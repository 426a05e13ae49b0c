// SPDX-License-Identifier: Apache-2.0
/* The growth of arrays: doubling, with every multiplication checked. */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

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
