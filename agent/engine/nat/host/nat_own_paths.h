/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the kernel's routing as a whole: that a rule looks up table main, and that the node's
 * addresses are local to the kernel. Part of the upkeep (nat_upkeep.h).
 */
#pragma once

struct nat_engine;

/* Consecutive checks that found it wrong; IPv4, IPv6. */
struct nat_own_paths {
    unsigned ruleless[2], away[2];
};

/* To be called about twice a second. */
void nat_own_paths_look(struct nat_engine *engine);
