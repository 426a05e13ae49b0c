/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates Kubernetes Events that say to the owners of Services why these are not exported although
 * they request it. There is one Event for each cause, whose name is the same from every controller,
 * so that the cluster has it once.
 */
#pragma once

#include "base/cleanup.h"
#include "controller/board.h"
#include "plan/export/export_plan.h"

struct export_events;

/* Returns 0 or -ENOMEM. The board is borrowed. */
int export_events_new(const struct board *board, struct export_events **ret_events);
void export_events_free(struct export_events *events);
DEFINE_CLEANUP(struct export_events *, export_events_free);

void export_events_lead(struct export_events *events, bool leading);

/* The Services that are refused now: borrowed until the next call. Returns 0 or -ENOMEM. */
int export_events_want(struct export_events *events, const struct export_plan *plan);

void export_events_publish(const struct export_events *events, struct write_status *status);
