// SPDX-License-Identifier: Apache-2.0
/*
 * The Services whose status differs from the decision, by key; called by address_job.c and
 * address_write.c, which store in each what the record claims.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "controller/pools/address_inside.h"

static int behind_cmp(const void *a, const void *b)
{
    const struct behind *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

static void behind_free(struct behind *behind)
{
    if (!behind)
        return;
    vec_done(&behind->claim);
    free(behind->key);
    free(behind);
}
DEFINE_CLEANUP(struct behind *, behind_free);

struct behind *behind_find(const struct sorted *table, const char *key)
{
    const struct behind wanted = { .key = (char *)key }, *pointer = &wanted;
    struct behind *const *found = sorted_find(table, &pointer);
    return found ? *found : NULL;
}

int behind_add(struct sorted *table, const char *key)
{
    if (behind_find(table, key))
        return 0;
    CLEANUP(behind_freep) struct behind *behind = calloc(1, sizeof(*behind));
    if (!behind)
        return -ENOMEM;
    behind->key = strdup(key);
    if (!behind->key || sorted_put(table, &behind) < 0)
        return -ENOMEM;
    (void)TAKE_PTR(behind);
    return 0;
}

bool behind_drop(struct sorted *table, const char *key)
{
    struct behind *behind = behind_find(table, key);
    const bool chosen = behind && behind->chosen;
    if (!behind)
        return false;
    sorted_remove(table, &behind);
    behind_free(behind);
    return chosen;
}

void behind_clear(struct sorted *table)
{
    sorted_each(struct behind *, behind, table)
        behind_free(*behind);
    sorted_clear(table);
}

void behind_init(struct sorted *table)
{
    *table = (struct sorted)SORTED(struct behind *, behind_cmp);
}
