/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the host's kernel that service NAT needs, and that the agent does not change. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"

/*
 * Adds a fault with a remedy where an interface that packets of Services come by does not forward
 * IPv4 (if `v4`) or IPv6 (if `v6`). Reads /proc, of this network namespace.
 */
void nat_host_check_interface(const char *name, bool v4, bool v6, struct faults *faults);

/* And of an uplink, where it has IPv6 switched off, or does not answer ARP at all (arp_ignore, its
 * own or that of all). */
void nat_host_check_uplink(const char *name, bool v4, bool v6, struct faults *faults);
