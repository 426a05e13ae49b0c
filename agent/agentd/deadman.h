/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dead-man: `agentd --deadman`, a companion process (agentd-deadman.service, off by default).
 *
 * Routes stay when the agent dies, which is right for a restart and wrong for ever. When no agent
 * has had the state folder's lock for routes.deadman, the node's service addresses are withdrawn;
 * pod blocks and guards stay. The next agent announces again what it serves.
 */
#pragma once

#include "config/config.h"

/* Runs until SIGTERM or SIGINT. Returns 0 (also if routes.deadman is off) or -errno. */
int deadman_run(const struct config *config);
