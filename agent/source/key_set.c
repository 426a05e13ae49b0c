// SPDX-License-Identifier: Apache-2.0
/* Keys in an arena, since all are freed together; see key_set.h. */
#include "source/key_set.h"

#include <errno.h>
#include <string.h>

enum { FIRST_CHUNK = 16 * 1024 };

static int name_cmp(const void *a, const void *b)
{
    const struct object_name *left = a, *right = b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

int key_set_add(struct key_set *set, const char *namespace, const char *name)
{
    if (!set->arena)
        set->arena = arena_new(FIRST_CHUNK);
    if (!set->arena)
        return -ENOMEM;
    struct object_name key = { arena_strdup(set->arena, namespace),
                               arena_strdup(set->arena, name) };
    return key.namespace && key.name ? vec_push(&set->names, key) : -ENOMEM;
}

void key_set_sort(struct key_set *set)
{
    vec_sort(&set->names, name_cmp);
}

bool key_set_has(const struct key_set *set, const char *namespace, const char *name)
{
    struct object_name key = { namespace, name };
    return vec_find(&set->names, &key, name_cmp);
}

void key_set_done(struct key_set *set)
{
    vec_done(&set->names);
    arena_free(set->arena);
    set->arena = NULL;
}
