/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the detectors that judge one Service at a time (detect/services.c). The unit is the Service:
 * a Service that a change touches is judged again, and the findings of each Service are held
 * separately.
 */
#pragma once

#include "engine/engine.h"

struct service_watch;

/* Copies the setup. Returns 0 or -ENOMEM. */
int service_watch_new(const struct engine_setup *setup, struct service_watch **ret_watch);
void service_watch_free(struct service_watch *watch);

/* As the operations of an engine; see engine.h. */
void service_watch_configure(struct service_watch *watch, const struct config *config);
int service_watch_note(struct service_watch *watch, const struct change *change, int64_t now_ms);
int service_watch_plan(struct service_watch *watch, bool all, int64_t now_ms);
void service_watch_publish(struct service_watch *watch, int64_t now_ms);
int64_t service_watch_next_ms(const struct service_watch *watch);
