/* SPDX-License-Identifier: Apache-2.0 */
/* Exports offline: what `agentctl plan` plans of them, and "exports:" of a Plan for people. */
#pragma once

#include "agentctl/ctl.h"
#include "api/view.h"
#include "format/doc.h"

/*
 * The plan of exports by the settings of --controller; without that option nothing is planned.
 * Faults are added for what is wrong in the file and for refused Services. What is planned is the
 * caller's to free, whatever is returned: 0, or -errno after a fault that says why or -ENOMEM.
 */
int plan_exports(const struct ctl *ctl, const struct store *store, struct planned_exports *ret,
                 struct faults *faults);

/* Nothing if `exports` is null. */
void add_exports(struct text *out, const struct doc *exports);
