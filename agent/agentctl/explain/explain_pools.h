/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of LoadBalancer addresses in words, for `explain` and `pools`. */
#pragma once

#include "base/text.h"
#include "format/doc.h"

/* "namespace/name" of a map that has both. */
void add_key(struct text *out, const struct doc *map);

/* What a Service lacks, in words: an item of "pending". */
void add_pending(struct text *out, const struct doc *lack);
/* The line of an explanation about the pool that an address is of, and who waits for it. */
void add_pool_explanation(struct text *out, const struct doc *pool);
