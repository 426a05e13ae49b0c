/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the kernel that NAT needs, and does not make itself. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"

/*
 * What is lacking is a fault by the sysctl's name, with its remedy: forwarding of the families that
 * the node has, and for IPv4 the loopback's accept_local. Reads /proc of this network namespace.
 */
void nat_host_check(bool v4, bool v6, struct faults *faults);
