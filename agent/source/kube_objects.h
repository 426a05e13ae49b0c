/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of one kind on their way from the API's text into the store. */
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

struct arrival; /* an object that was read */

struct kube_objects {
    struct store *store;
    enum kind kind;
    struct sorted troubles; /* what could not be read as it should, by key */
    uint64_t lists;         /* begun so far */
    uint64_t changes;       /* of the store */
    bool holding;
    VEC(struct arrival) held; /* of kube_objects.c */
    size_t held_bad;          /* of these, those that can't be used */
};

void kube_objects_init(struct kube_objects *objects, struct store *store, enum kind kind);
void kube_objects_done(struct kube_objects *objects);

/* The names in an object's metadata, borrowed; false if it has none that the kind can have: nobody
 * knows then which object it is. */
bool kube_objects_name(const struct kube_objects *objects, const struct doc *object,
                       struct object_name *ret_name);

/* The kind that an object says it has, borrowed, if it is another one; NULL: it is not. */
const char *kube_objects_other_kind(const struct kube_objects *objects, const struct doc *object);

/*
 * Takes an object into the store. One that can't be used is told of, and what was known of it stays
 * in force. `object` is a map in the document. Returns 0, -ENOMEM, or -E2BIG: so many can't be used
 * that nobody means them, and to note each would take the loop's time.
 */
int kube_objects_put(struct kube_objects *objects, const struct document *document,
                     const struct doc *object, const struct object_name *name);

/*
 * From here on what is put or refused has no effect: it is held until it is known what it belongs
 * to. Then it is taken, which returns as kube_objects_put(), or dropped; without anything held,
 * both do nothing.
 */
void kube_objects_hold(struct kube_objects *objects);
int kube_objects_take_held(struct kube_objects *objects);
void kube_objects_drop_held(struct kube_objects *objects);

/* Takes one out. Returns 0 or -ENOMEM. */
int kube_objects_remove(struct kube_objects *objects, const struct object_name *name);

enum { KUBE_NAME_BUFFER = 640 };

/*
 * Takes note of text that is no object, for reasons that the caller has found. Returns 1 and the
 * object's names, which its beginning shows and which are written to `buffer`; 0 if nobody knows
 * which object it was; -ENOMEM or -E2BIG.
 */
int kube_objects_refuse(struct kube_objects *objects, const char *text, const struct faults *why,
                        struct object_name *ret_name, char buffer[static KUBE_NAME_BUFFER]);

/* What such an error says of the whole answer. Static. */
const char *kube_objects_error(int error);

/* True if text that is no object begins as an event does that says of one that it was deleted. */
bool kube_objects_deletes(const char *text);

/* True if something is wrong with an object that nobody could name: only a list shows its end. */
bool kube_objects_nameless(const struct kube_objects *objects);

/*
 * Around a list that names all objects: what it has not named is taken out at its end, unless the
 * set (sorted) is NULL because nobody knows all that it named. Returns 0 or -ENOMEM.
 */
void kube_objects_begin_list(struct kube_objects *objects);
int kube_objects_end_list(struct kube_objects *objects, const struct key_set *named);

/* Adds what is wrong with objects now. */
void kube_objects_faults(const struct kube_objects *objects, struct faults *faults);

/* Objects that could not be read and of which nothing is known from before. */
size_t kube_objects_unknown(const struct kube_objects *objects);
