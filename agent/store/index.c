// SPDX-License-Identifier: Apache-2.0
/*
 * The indexes of the store; see index.h.
 *
 * Almost every address belongs to one Service, so a group of one needs no array. Groups hold
 * pointers as `const void *`, so that callers can borrow them as arrays of their own type.
 *
 * An update first reserves space in every group of the new object, which is the only step that can
 * fail, then moves pointers, then frees the groups that became empty. Groups are hashed with a
 * random key, since every user with the right to create a Service can choose addresses and names.
 */
#include "store/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/siphash.h"

struct group {
    struct map_node node;
    uint32_t count;
    union {
        const void *one;   /* shift 0: the only object */
        const void **many; /* room for 1 << shift */
    };
    uint16_t key_size;
    uint8_t shift;
    unsigned char key[];
};

static const void **items_of(struct group *group)
{
    return group->shift ? group->many : &group->one;
}

static bool has_key(const struct map_node *node, const void *key)
{
    const struct group *group = CONTAINER_OF(node, const struct group, node);
    const struct index_key *wanted = key;
    return group->key_size == wanted->size && memcmp(group->key, wanted->bytes, wanted->size) == 0;
}

static uint32_t key_hash(const struct index *index, const struct index_key *key)
{
    return (uint32_t)siphash(key->bytes, key->size, index->seed);
}

static struct group *group_find(const struct index *index, const struct index_key *key)
{
    struct map_node *node = map_find(&index->groups, key_hash(index, key), has_key, key);
    return node ? CONTAINER_OF(node, struct group, node) : NULL;
}

static struct group *group_make(struct index *index, const struct index_key *key)
{
    struct group *group = group_find(index, key);
    if (group || map_reserve(&index->groups) < 0)
        return group;
    group = malloc(sizeof(*group) + key->size);
    if (!group)
        return NULL;
    *group = (struct group){ .node.hash = key_hash(index, key), .key_size = (uint16_t)key->size };
    memcpy(group->key, key->bytes, key->size);
    map_add(&index->groups, &group->node);
    return group;
}

static void group_free(struct group *group)
{
    if (group->shift)
        free(group->many);
    free(group);
}

/* Resizes a group to 1 << shift objects; it has no more than that. */
static int group_resize(struct group *group, uint8_t shift)
{
    const void **items = NULL;
    if (shift) {
        items = reallocarray(NULL, (size_t)1 << shift, sizeof(*items));
        if (!items)
            return -ENOMEM;
        memcpy(items, items_of(group), group->count * sizeof(*items));
    }
    const void *one = group->count ? *items_of(group) : NULL;
    if (group->shift)
        free(group->many);
    if (shift)
        group->many = items;
    else
        group->one = one;
    group->shift = shift;
    return 0;
}

/* The place of an object in its group, or where to insert it; true if it is there. */
static bool group_place(const struct index *index, struct group *group, const struct object *object,
                        uint32_t *ret_place)
{
    const void **items = items_of(group);
    uint32_t low = 0, high = group->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index->order(items[middle], object) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_place = low;
    return low < group->count && items[low] == object;
}

static bool group_has(const struct index *index, struct group *group, const struct object *object)
{
    uint32_t place;
    return object && group_place(index, group, object, &place);
}

/* The object's next key; the object may be NULL. */
static bool next_key(const struct index *index, const struct object *object, size_t *i,
                     struct index_key *ret_key)
{
    while (object && index->key(object, (*i)++, ret_key)) {
        if (ret_key->size > 0)
            return true;
    }
    return false;
}

/* Reserves space for `after` in each of its groups, as it is after `before` is removed. */
static int make_room(struct index *index, const struct object *before, const struct object *after)
{
    struct index_key key;
    for (size_t i = 0; next_key(index, after, &i, &key);) {
        struct group *group = group_make(index, &key);
        if (!group)
            return -ENOMEM;
        if (group->count < UINT32_C(1) << group->shift || group_has(index, group, before))
            continue;
        int r = group_resize(group, (uint8_t)(group->shift + 1));
        if (r < 0)
            return r;
    }
    return 0;
}

static void leave(struct index *index, const struct object *before)
{
    struct index_key key;
    for (size_t i = 0; next_key(index, before, &i, &key);) {
        struct group *group = group_find(index, &key);
        uint32_t place;
        if (!group || !group_place(index, group, before, &place))
            continue; /* it has the key twice */
        const void **items = items_of(group);
        group->count--;
        memmove(&items[place], &items[place + 1], (group->count - place) * sizeof(*items));
    }
}

static void join(struct index *index, const struct object *after)
{
    struct index_key key;
    for (size_t i = 0; next_key(index, after, &i, &key);) {
        struct group *group = group_find(index, &key);
        uint32_t place;
        if (group_place(index, group, after, &place))
            continue; /* it has the key twice */
        const void **items = items_of(group);
        memmove(&items[place + 1], &items[place], (group->count - place) * sizeof(*items));
        items[place] = after;
        group->count++;
    }
}

/* Frees memory where the object's groups have become smaller. */
static void tidy(struct index *index, const struct object *object)
{
    struct index_key key;
    for (size_t i = 0; next_key(index, object, &i, &key);) {
        struct group *group = group_find(index, &key);
        if (!group)
            continue;
        if (group->count == 0) {
            map_remove(&index->groups, &group->node);
            group_free(group);
        } else if (group->shift && group->count == 1) {
            (void)group_resize(group, 0);
        } else if (group->count <= UINT32_C(1) << group->shift >> 2) {
            (void)group_resize(group, (uint8_t)(group->shift - 1));
        }
    }
}

void index_abandon(struct index *index, const struct object *after)
{
    tidy(index, after);
}

int index_prepare(struct index *index, const struct object *before, const struct object *after)
{
    int r = make_room(index, before, after);
    if (r < 0)
        index_abandon(index, after);
    return r;
}

void index_commit(struct index *index, const struct object *before, const struct object *after)
{
    leave(index, before);
    join(index, after);
    tidy(index, before);
}

const void *const *index_find(const struct index *index, const struct index_key *key,
                              size_t *ret_count)
{
    struct group *group = group_find(index, key);
    *ret_count = group ? group->count : 0;
    return group ? items_of(group) : NULL;
}

const void *index_next(const struct index *index, size_t *cursor)
{
    struct map_node *node = map_next(&index->groups, cursor);
    return node ? CONTAINER_OF(node, struct group, node)->key : NULL;
}

void index_done(struct index *index)
{
    size_t cursor = 0;
    for (struct map_node *node; (node = map_next(&index->groups, &cursor));)
        group_free(CONTAINER_OF(node, struct group, node));
    map_done(&index->groups);
}
