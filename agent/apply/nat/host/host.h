/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the host's kernel that service NAT needs, and that the agent does not change. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"

/*
 * Adds a fault with a remedy for each setting of an interface that carries our programs: that it
 * forwards IPv4 (if `v4`), and, if `v6`, that IPv6 is not off on it. Reads /proc, of this network
 * namespace.
 */
void nat_host_check_interface(const char *name, bool v4, bool v6, struct faults *faults);

/* And of an uplink, that it answers ARP at all (arp_ignore, its own or that of all). */
void nat_host_check_arp(const char *name, struct faults *faults);
