/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the programs of egress stand: those of clients at the host's ends of pods, that of the
 * gateway at uplinks. Internal to engine/egress/.
 */
#pragma once

#include "engine/egress/egress_state.h"

/* Returns 0 or -errno. */
int egress_hooks_open(struct egress_engine *egress);

/* Attaches the programs where they are wanted now, and takes them away elsewhere. What can't be
 * attached is a fault, and tried again. Returns 0 or -errno. */
int egress_hooks_follow(struct egress_engine *egress, struct round *round);

/* Whether the client's programs are on an interface of a pod, or no pod here needs them. */
bool egress_hooks_carry(const struct egress_engine *egress, uint32_t ifindex);
