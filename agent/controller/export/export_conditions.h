/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a condition on a Service's status that says why the Service is not exported although it
 * requests it: SERVICE_EXPORTED exists as long as the Service is refused, and is removed when that
 * is fixed.
 */
#pragma once

#include "base/cleanup.h"
#include "controller/board.h"
#include "plan/export/export_plan.h"

struct export_conditions;

/* Returns 0 or -ENOMEM. The board is borrowed. */
int export_conditions_new(const struct board *board, struct export_conditions **ret_conditions);
void export_conditions_free(struct export_conditions *conditions);
DEFINE_CLEANUP(struct export_conditions *, export_conditions_free);

void export_conditions_lead(struct export_conditions *conditions, bool leading);

/* The Services that are refused now: borrowed until the next call. Returns 0 or -ENOMEM. */
int export_conditions_want(struct export_conditions *conditions, const struct export_plan *plan);

/* Fills in the faults about writes that the API refuses, if they have changed: returns whether. */
bool export_conditions_faults(struct export_conditions *conditions, struct faults *faults);

void export_conditions_publish(const struct export_conditions *conditions,
                               struct write_status *status);
