/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the programs of egress are attached: the clients' programs to the host ends of pods, the
 * gateway's program to uplinks. Internal to engine/egress/.
 */
#pragma once

#include "engine/egress/egress_state.h"

/* Returns 0 or -errno. */
int egress_hooks_open(struct egress_engine *egress);

/* Attaches the programs where they are wanted, and detaches them elsewhere. A failed attachment is
 * a fault and is retried. Returns 0 or -errno. */
int egress_hooks_follow(struct egress_engine *egress, struct round *round);

/* Whether the client's programs are attached to a pod's interface, or no pod here needs them. */
bool egress_hooks_carry(const struct egress_engine *egress, uint32_t ifindex);
