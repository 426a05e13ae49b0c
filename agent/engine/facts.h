/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts about this node that every planner reads, made from the configuration, the objects and
 * the kernel's mirror.
 */
#pragma once

#include "apply/kernel.h"
#include "plan/facts.h"
#include "plan/link_table.h"

/*
 * The facts as they are now. All is borrowed: `way` and `defaults` from whoever follows svc0 (the
 * NAT engine), the rest until the kernel is read again. A `way` without an interface is none: NAT
 * is off, or svc0 not there.
 */
struct node_facts node_facts_of(const struct config *config, const struct store *store,
                                const struct kernel *kernel, const struct nat_way *way,
                                const struct default_sources *defaults);
