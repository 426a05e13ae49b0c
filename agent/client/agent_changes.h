/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives notifications of changes from the agent by its stream /v1/changes (libcurl, blocking:
 * for agentctl). Nothing of the stream is stored, so that it may run for days.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/*
 * The agent sends a heartbeat every five seconds. A stream that is silent for this long is taken
 * for hung.
 */
enum { AGENT_SILENT_MS = 15 * 1000 };

struct agent_changes;

/* Does not connect yet. Returns 0; -ENAMETOOLONG; -ENOMEM. */
int agent_changes_new(const char *socket, struct agent_changes **ret_changes);
void agent_changes_free(struct agent_changes *changes);
DEFINE_CLEANUP(struct agent_changes *, agent_changes_free);

/*
 * Waits until the state of the agent may have changed: the stream reported a change or sent a
 * heartbeat, ended, or was silent for too long. With `always`, or without a stream, it waits for at
 * most `interval_ms`: the agent may be down, be older than streams, or have no room for another
 * stream. Further calls try to connect again, with growing delays.
 */
void agent_changes_wait(struct agent_changes *changes, int64_t interval_ms, bool always);

/* Whether a stream is connected and reports changes. */
bool agent_changes_heard(const struct agent_changes *changes);
