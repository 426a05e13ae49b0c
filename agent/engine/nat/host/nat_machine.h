/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine lacks for service NAT: kernel settings, addresses of its interfaces. */
#pragma once

#include "base/fault.h"
#include "engine/nat/nat_node.h"

/* Adds a fault for each kernel setting that is wrong; reads /proc. */
void nat_machine_settings(const struct nat_node *node, struct faults *faults);

/* Adds a fault for each address of the Node object that no interface has. */
void nat_machine_addresses(const struct nat_node *node, const struct node_facts *facts,
                           struct faults *faults);
