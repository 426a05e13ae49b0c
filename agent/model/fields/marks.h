/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations and labels that nobody reads: misspelt, or at the wrong object. Private to model/. */
#pragma once

#include "model/fields/decode.h"

/*
 * Warns of what looks like an annotation or a label that would count, and of every annotation with
 * the prefix of our own that does not.
 */
void marks_check(struct decoder *decoder, const char *kind, const struct doc *metadata);
