/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the kernel's routing is as a whole what it has to be: that a rule looks up table main,
 * and that the node's addresses are its own. Part of the upkeep (nat_upkeep.h).
 */
#pragma once

struct nat_engine;

/* Looks one after the other that found it amiss; IPv4, IPv6. */
struct nat_own_paths {
    unsigned ruleless[2], away[2];
};

/* To be called about twice a second. */
void nat_own_paths_look(struct nat_engine *engine);
