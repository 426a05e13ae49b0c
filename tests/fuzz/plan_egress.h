/* SPDX-License-Identifier: Apache-2.0 */
/* Egress in a plan: what must hold of it. */
#pragma once

#include "plan/egress/egress.h"

/* Tables are sorted, and name only what is in the others. */
void egress_plan_check(const struct egress_plan *plan);

/* The same objects in another order make the same plan. */
void egress_plan_compare(const struct egress_plan *left, const struct egress_plan *right);
