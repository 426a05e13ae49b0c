/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svc0: the veth pair by which packets to service addresses reach the NAT program: packets of the
 * node itself, and forwarded ones that no other hook handled. No packet ever leaves by its peer.
 *
 * The pair outlives the agent. Ours is identified by its alias (base/ours.h); an interface of that
 * name without it is foreign, and is not changed.
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"

struct svc0 {
    uint32_t ifindex;
    uint8_t mac[6];
};

/*
 * Creates the pair if needed, and sets it up with this MTU and its other settings. Returns 1 if
 * something was changed, 0 if nothing was, or -errno with a fault (-EEXIST: another program uses
 * the name).
 */
int svc0_ensure(uint32_t mtu, struct svc0 *ret_svc0, struct faults *faults);

/* Removes the pair, if it is ours. Returns 1, 0 if there is none of ours, or -errno. */
int svc0_remove(void);
