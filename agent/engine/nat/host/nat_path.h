/* SPDX-License-Identifier: Apache-2.0 */
/* Which path masqueraded packets take: through the stack or past it (services.path). */
#pragma once

#include <stdint.h>

#include "apply/nat/host/listeners.h"

struct nat_engine;
struct config;

/*
 * Decides it, tells the programs, and notes it in status. Under `auto` it asks the kernel who
 * listens. Cheap enough for every few seconds.
 */
void nat_path_follow(struct nat_engine *engine);

/* The mark of packets to opened ports that our programs give (services.firewall); 0: none. */
uint32_t nat_path_mark(const struct config *config);
