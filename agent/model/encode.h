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
