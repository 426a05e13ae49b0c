/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "engine/nat/nat_node.h"

/* Fills in `node->origins` from its hooks, settings and svc0. Borrows the mirror's lists. */
void nat_origins_find(struct nat_node *node, const struct kernel *kernel);
