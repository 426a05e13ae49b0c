/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the owners of Services by Kubernetes Events why these are not exported though they ask. One
 * Event for each cause, of the same name by whichever controller, so that the cluster has it once.
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

/* What is refused now: borrowed until the next call. Returns 0 or -ENOMEM. */
int export_events_want(struct export_events *events, const struct export_plan *plan);

void export_events_publish(const struct export_events *events, struct write_status *status);
