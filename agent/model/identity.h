/* SPDX-License-Identifier: Apache-2.0 */
/* Who an object is, and what holds it: the part of metadata for those who write. Private to model/.
 */
#pragma once

#include "format/json.h"
#include "model/fields/decode.h"

void decode_deletion(struct decoder *decoder, const struct doc *metadata, struct object *object);
void decode_identity(struct decoder *decoder, const struct doc *metadata, struct object *object);

bool identity_equal(const struct object *a, const struct object *b);

/* What decode_identity() reads, but the version: in a copy it would be an old one. */
void encode_identity(struct json *json, const struct object *object);
