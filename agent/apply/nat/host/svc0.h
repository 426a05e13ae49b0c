/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svc0: the veth pair by which packets to service addresses meet the NAT program: those of the node
 * itself, and forwarded ones that no other hook took. Nothing ever leaves by its peer.
 *
 * The pair outlives the agent. Ours is told by its alias (base/ours.h); an interface of that
 * name without it is foreign, and stays.
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"

struct svc0 {
    uint32_t ifindex;
    uint8_t mac[6];
};

/*
 * Makes the pair stand, up, with this MTU and as it must be. Returns 1 if something was done for
 * it, 0 if all was so, or -errno with a fault (-EEXIST: the name is somebody else's).
 */
int svc0_ensure(uint32_t mtu, struct svc0 *ret_svc0, struct faults *faults);

/* Removes the pair, if it is ours. Returns 1, 0 if there is none of ours, or -errno. */
int svc0_remove(void);
