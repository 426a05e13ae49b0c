/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which objects carry a key: services by address or node port, slices by service. Private to
 * store/.
 *
 * An object can have any number of keys; the objects of one key form a group, sorted. An index
 * borrows its objects and has to be told of every change of what counts.
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

struct index {
    struct map groups;
    /* The object's key number i, of size 0 if there is none at i; false if there are no more. */
    bool (*key)(const struct object *object, size_t i, struct index_key *ret_key);
    int (*order)(const struct object *a, const struct object *b); /* within a group */
    const uint8_t *seed;                                          /* 16 bytes, borrowed */
};

/*
 * `after` takes the place of `before`; NULL: there is none. In time proportional to their keys.
 * Returns 0, or -ENOMEM with the index unchanged. Can't fail where `after` is NULL.
 */
int index_update(struct index *index, const struct object *before, const struct object *after);

/*
 * The same in two steps, where several indexes must follow one object: all that can fail, which
 * leaves the groups as they are, then the rest. A preparation that is not wanted any more is
 * abandoned; one that failed has cleaned up after itself.
 */
int index_prepare(struct index *index, const struct object *before, const struct object *after);
void index_commit(struct index *index, const struct object *before, const struct object *after);
void index_abandon(struct index *index, const struct object *after);

/* The group of a key: an array of pointers to objects, borrowed until the next update, or NULL. */
const void *const *index_find(const struct index *index, const struct index_key *key,
                              size_t *ret_count);

/* The bytes of every key in use, in an order that means nothing; NULL at the end. */
const void *index_next(const struct index *index, size_t *cursor);

void index_done(struct index *index);
