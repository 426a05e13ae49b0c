/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the objects of Egresses at the last apply (plan/egress/workload.h), by key. Part of
 * the egress job: its state beyond the store. */
#pragma once

#include "base/sorted.h"
#include "plan/egress/workload.h"

void egress_marks_init(struct sorted *marks);
void egress_marks_clear(struct sorted *marks);
void egress_marks_done(struct sorted *marks);

/* The mark of a key; all zero where there is none. Borrowed until the next change. */
const struct workload_mark *egress_mark(const struct sorted *marks, const char *key);

/* Sets it. Without memory it is not set: the object is applied again. */
void egress_mark_set(struct sorted *marks, const char *key, const struct workload_mark *mark);
void egress_mark_drop(struct sorted *marks, const char *key);

/* Drops the marks for which `is_stale` returns true. */
void egress_marks_sweep(struct sorted *marks, bool (*is_stale)(void *context, const char *key),
                        void *context);
