/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which objects have a key: the Services of an address, the slices of a Service. Private to store/;
 * index_table.h lists the indexes.
 *
 * An object can have any number of keys; the objects of one key form a group, sorted. An index
 * borrows its objects and must be updated with every change of an effective object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/object.h"
#include "store/map.h"

enum { INDEX_KEY_MAX = 512 };

struct index_key {
    size_t size;
    unsigned char bytes[INDEX_KEY_MAX];
};

/* The object's key number i, of size 0 if there is none at i; false if there are no more. */
typedef bool (*index_key_fn)(const struct object *object, size_t i, struct index_key *ret_key);
typedef int (*index_order_fn)(const struct object *a, const struct object *b);

struct index {
    struct map groups;
    index_key_fn key;
    index_order_fn order; /* within a group */
    const uint8_t *seed;  /* 16 bytes, borrowed */
};

/*
 * Replaces `before` by `after`; NULL: none. Takes time proportional to the number of their keys.
 * There are two steps, since several indexes must follow one object: index_prepare() does all that
 * can fail and leaves the groups unchanged, index_commit() does the rest. index_abandon() undoes a
 * preparation that is not needed; one that failed has cleaned up after itself. index_prepare()
 * returns 0 or -ENOMEM, and can't fail where `after` is NULL.
 */
int index_prepare(struct index *index, const struct object *before, const struct object *after);
void index_commit(struct index *index, const struct object *before, const struct object *after);
void index_abandon(struct index *index, const struct object *after);

/* The group of a key: an array of pointers to objects, borrowed until the next update, or NULL. */
const void *const *index_find(const struct index *index, const struct index_key *key,
                              size_t *ret_count);

/* The bytes of every key in use, in no particular order; NULL at the end. */
const void *index_next(const struct index *index, size_t *cursor);

void index_done(struct index *index);
