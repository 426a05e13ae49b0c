/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of an allocator that outlives its process, as text: the assignments, the addresses in
 * cooldown, and the pools in force. agentd stores it in its state folder; agent-controller, whose
 * assignments are in the API, stores the rest there as well.
 */
#pragma once

#include "base/text.h"
#include "format/doc.h"
#include "pools/allocator.h"

/*
 * Writes one JSON document. `is_kept` returns for each Service whether its addresses are written;
 * NULL: all are. Of the addresses in cooldown the youngest `rests_max` are written. Sticky errors
 * of `out`.
 */
void allocator_state_write(const struct pool_allocator *allocator,
                           bool (*is_kept)(void *context, const struct assignment *row),
                           void *context, size_t rests_max, struct text *out);

/*
 * Loads a document into an allocator that has not begun. Returns 0; -EBADMSG after adding a fault;
 * -ENOMEM. After a failure the allocator may have a part of it.
 */
int allocator_state_read(const struct document *document, struct pool_allocator *allocator,
                         struct faults *faults);
