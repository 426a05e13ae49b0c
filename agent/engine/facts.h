/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the facts about this node that every planner reads (plan/facts.h), from the configuration,
 * the objects and the kernel's mirror.
 */
#pragma once

#include "apply/mirror/kernel.h"
#include "plan/facts.h"
#include "plan/link_table.h"

/*
 * The present facts. Everything is borrowed: `leads` and `defaults` from the board, the rest until
 * the kernel is read again. `leads` with ifindex 0: NAT is off, or svc0 does not exist.
 */
struct node_facts node_facts_of(const struct config *config, const struct store *store,
                                const struct kernel *kernel, const struct nat_svc0 *leads,
                                const struct default_sources *defaults);
