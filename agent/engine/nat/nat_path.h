/* SPDX-License-Identifier: Apache-2.0 */
/* Which path masqueraded packets take: through the stack or past it (services.path). */
#pragma once

#include "apply/nat/listeners.h"

struct nat_engine;

/*
 * Decides it, tells the programs, and notes it in status. Under `auto` it asks the kernel who
 * listens. Cheap enough for every few seconds.
 */
void nat_path_follow(struct nat_engine *engine);
