/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back: an object as JSON that object_decode() reads as an equal one. Only what the agent
 * keeps of an object is written, so this is no manifest to give to a cluster.
 */
#pragma once

#include "base/text.h"
#include "model/object.h"

/* Adds the object to `out` as one line without its end. Lack of memory sticks in the text. */
void object_encode(const struct object *object, struct text *out);

/*
 * A copy of an object, by writing and reading it again: some ten microseconds, and no second list
 * of all that an object has. Returns 0 and an object that the caller owns, or -ENOMEM.
 */
int object_copy(const struct object *object, struct object **ret_object);
