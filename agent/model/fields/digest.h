/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object says as one number, for who has to know only whether it still says what it was
 * made to say: its labels, its owners, and all that is neither metadata nor status. Annotations are
 * left out, where controllers keep notes of their own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/fields/field.h"

/* Of an object as the API has it; never 0. Returns 0 without memory. */
uint64_t object_digest(const struct doc *root);

/*
 * Private to model/. Whether an object is of an Egress: by its controller, or by its labels, which
 * then name it in *ret_egress (borrowed; NULL where they don't).
 */
bool decode_is_of_egress(const struct decoder *decoder, const struct object *object,
                         const char **ret_egress);

/* The digest; of what was encoded, that of what it was encoded from. */
uint64_t decode_digest(struct decoder *decoder);

/* Compares and writes it, of the row of a kind's whole document; reads nothing. */
extern const struct field_type field_digest;
