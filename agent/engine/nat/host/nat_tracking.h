/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the kernel's table of tracked connections has room. nat_upkeep.c asks every second. */
#pragma once

struct nat_engine;

/* Reports a fault while the table is nearly full. */
void nat_tracking_report(struct nat_engine *engine);
