/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the host's kernel that service NAT needs and the agent does not change. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"

/*
 * Adds a fault with a remedy where an interface that receives packets of Services does not forward
 * IPv4 (if `v4`) or IPv6 (if `v6`). Reads /proc, of this network namespace.
 */
void nat_host_check_interface(const char *name, bool v4, bool v6, struct faults *faults);

/* The same for an uplink on which IPv6 is disabled, or which does not answer ARP at all
 * (arp_ignore, its own setting or that of all). */
void nat_host_check_uplink(const char *name, bool v4, bool v6, struct faults *faults);
