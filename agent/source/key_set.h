/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of keys of objects of one kind, filled once and then queried: the objects named by a list.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"

struct object_name {
    const char *namespace, *name;
};

struct key_set {
    struct arena *arena;
    VEC(struct object_name) names;
};

/* Adds a key; both strings are copied. Returns 0 or -ENOMEM. */
int key_set_add(struct key_set *set, const char *namespace, const char *name);

/* Sorts the keys, as key_set_has() requires. */
void key_set_sort(struct key_set *set);
bool key_set_has(const struct key_set *set, const char *namespace, const char *name);

/* Empties the set. */
void key_set_done(struct key_set *set);
