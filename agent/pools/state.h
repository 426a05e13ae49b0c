/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an allocator has to remember beyond its process, as text: who has which address, which ones
 * rest, and the pools in force. agentd keeps it in its state folder; agent-controller, whose
 * Services have their addresses in the API, keeps the rest of it there, too.
 */
#pragma once

#include "base/text.h"
#include "format/doc.h"
#include "pools/allocator.h"

/*
 * Writes one JSON document. `is_kept` says of each Service whether its addresses are written; NULL:
 * all are. Of those that rest the youngest `rests_max` are written. Sticky errors of `out`.
 */
void allocator_state_write(const struct pool_allocator *allocator,
                           bool (*is_kept)(void *context, const struct assignment *row),
                           void *context, size_t rests_max, struct text *out);

/*
 * Puts what a document says into an allocator that has not begun. Returns 0; -EBADMSG after adding
 * a fault; -ENOMEM. After a failure the allocator may have a part of it.
 */
int allocator_state_read(const struct document *document, struct pool_allocator *allocator,
                         struct faults *faults);
