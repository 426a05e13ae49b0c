/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the objects of one kind from the API's text and puts them into the store. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "format/doc.h"
#include "source/key_set.h"
#include "store/store.h"

struct arrival; /* a parsed object */

struct kube_objects {
    struct store *store;
    enum kind kind;
    struct sorted troubles; /* problems of objects, by key */
    uint64_t lists;         /* begun so far */
    uint64_t changes;       /* of the store */
    bool holding;
    VEC(struct arrival) held; /* of kube_objects.c */
    size_t held_bad;          /* of these, the ones that can't be used */
};

void kube_objects_init(struct kube_objects *objects, struct store *store, enum kind kind);
void kube_objects_done(struct kube_objects *objects);

/* The names in an object's metadata, borrowed; false if it has none that are valid for the kind:
 * then it can't be identified. */
bool kube_objects_name(const struct kube_objects *objects, const struct doc *object,
                       struct object_name *ret_name);

/* The kind in an object, borrowed, if it is another one than expected; otherwise NULL. */
const char *kube_objects_other_kind(const struct kube_objects *objects, const struct doc *object);

/*
 * Puts an object into the store. If it can't be used, that is reported, and its last good version
 * stays in force. `object` is a map in the document. Returns 0, -ENOMEM, or -E2BIG: too many
 * objects can't be used, and noting each would block the loop.
 */
int kube_objects_put(struct kube_objects *objects, const struct document *document,
                     const struct doc *object, const struct object_name *name);

/*
 * From here on objects that are put or refused have no effect: they are held until the answer is
 * known to be the right one. Then they are taken, which returns as kube_objects_put(), or dropped;
 * if nothing is held, both do nothing.
 */
void kube_objects_hold(struct kube_objects *objects);
int kube_objects_take_held(struct kube_objects *objects);
void kube_objects_drop_held(struct kube_objects *objects);

/* Removes an object. Returns 0 or -ENOMEM. */
int kube_objects_remove(struct kube_objects *objects, const struct object_name *name);

enum { KUBE_NAME_BUFFER = 640 };

/*
 * Notes text that is no object, for reasons that the caller has found. Returns 1 and the object's
 * names, which are found at its beginning and written to `buffer`; 0 if the object can't be
 * identified; -ENOMEM or -E2BIG.
 */
int kube_objects_refuse(struct kube_objects *objects, const char *text, const struct faults *why,
                        struct object_name *ret_name, char buffer[static KUBE_NAME_BUFFER]);

/* The message for such an error of a whole answer. Static. */
const char *kube_objects_error(int error);

/* True if text that is no object begins like an event that reports a deletion. */
bool kube_objects_deletes(const char *text);

/* True if an object that can't be identified has a problem: only a list shows when that is over. */
bool kube_objects_nameless(const struct kube_objects *objects);

/*
 * Encloses a complete list: at its end, objects that are not in it are removed, unless the set
 * (sorted) is NULL because not all names are known. Returns 0 or -ENOMEM.
 */
void kube_objects_begin_list(struct kube_objects *objects);
int kube_objects_end_list(struct kube_objects *objects, const struct key_set *named);

/* Adds the current problems of objects. */
void kube_objects_faults(const struct kube_objects *objects, struct faults *faults);

/* Number of objects that can't be parsed and have no good version from before. */
size_t kube_objects_unknown(const struct kube_objects *objects);
