/* SPDX-License-Identifier: Apache-2.0 */
/* How the objects of Egresses were when they were last applied (plan/egress/workload.h), by key.
 * Belongs to the job of egress: what it knows beyond the store. */
#pragma once

#include "base/sorted.h"
#include "plan/egress/workload.h"

void egress_marks_init(struct sorted *marks);
void egress_marks_clear(struct sorted *marks);
void egress_marks_done(struct sorted *marks);

/* The mark of a key; all zero where there is none. Borrowed until the next change. */
const struct workload_mark *egress_mark(const struct sorted *marks, const char *key);

/* Sets it. Without memory it has none: the object is applied once more. */
void egress_mark_set(struct sorted *marks, const char *key, const struct workload_mark *mark);
void egress_mark_drop(struct sorted *marks, const char *key);

/* Drops the marks of which `is_stale` says so. */
void egress_marks_sweep(struct sorted *marks, bool (*is_stale)(void *context, const char *key),
                        void *context);
