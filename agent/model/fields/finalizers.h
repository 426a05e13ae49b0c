/* SPDX-License-Identifier: Apache-2.0 */
/* The finalizers of an object, as a patch: for the controller and for nodes, which both hold
 * blocks. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "model/object.h"

/*
 * Writes a merge patch of an object's finalizers, with `finalizer` or without it. The API refuses
 * it if the object is another by now. Returns 0; -E2BIG: the object has more finalizers than are
 * known, so that they can't be written.
 */
int write_finalizers(const struct object *object, const char *finalizer, bool held,
                     struct text *body);
