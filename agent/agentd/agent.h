/* SPDX-License-Identifier: Apache-2.0 */
/* The agent as a whole: what is made, in which order, and how it ends. */
#pragma once

#include "base/cleanup.h"
#include "config/config.h"

struct agent;

/*
 * Takes the lock, opens the kernel, starts the source and the API. `config` is the agent's from
 * now on. On failure says why in the log. Returns 0 or -errno.
 */
int agent_new(const char *config_path, struct config *config, struct agent **ret_agent);

/* Runs until SIGTERM or SIGINT. Returns 0 or -errno. Routes stay when it ends. */
int agent_run(struct agent *agent);

void agent_free(struct agent *agent);
DEFINE_CLEANUP(struct agent *, agent_free);
