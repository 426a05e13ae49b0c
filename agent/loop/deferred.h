/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is asked for often and done once, soon: one pass for many events. */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

struct deferred;

/*
 * `run` is called from the loop when nothing of a more important (smaller) priority is pending.
 * It may schedule itself again, and may free the object. Returns 0 or -errno.
 */
int deferred_new(sd_event *event, int64_t priority, void (*run)(void *context), void *context,
                 struct deferred **ret_deferred);

/* Asks for one run; more of it changes nothing until that run begins. */
void deferred_schedule(struct deferred *deferred);

void deferred_free(struct deferred *deferred);
DEFINE_CLEANUP(struct deferred *, deferred_free);
