/* SPDX-License-Identifier: Apache-2.0 */
/* Which path masqueraded packets take: through the stack or around it (services.path). */
#pragma once

#include <stdint.h>

#include "apply/nat/host/listeners.h"

struct nat_engine;
struct config;

/*
 * Decides the path, writes it to the programs' maps, and records it in status. Under `auto` it
 * queries the kernel for listeners. Cheap enough to be called every few seconds.
 */
void nat_path_follow(struct nat_engine *engine);

/* The mark that our programs set on packets to opened ports (services.firewall); 0: none. */
uint32_t nat_path_mark(const struct config *config);
