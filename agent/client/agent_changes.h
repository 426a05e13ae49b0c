/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hears of changes from the agent, by its stream /v1/changes (libcurl, blocking: for agentctl).
 * Nothing of the stream is kept, so that it may go on for days.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* The agent says a word every five seconds; who says nothing for so long hangs. */
enum { AGENT_SILENT_MS = 15 * 1000 };

struct agent_changes;

/* Connects to nobody yet. Returns 0; -ENAMETOOLONG; -ENOMEM. */
int agent_changes_new(const char *socket, struct agent_changes **ret_changes);
void agent_changes_free(struct agent_changes *changes);
DEFINE_CLEANUP(struct agent_changes *, agent_changes_free);

/*
 * Waits until something of the agent may be another: it said so, or a heartbeat; or its stream
 * ended, or was silent for too long. With `always`, or where there is no stream, `interval_ms` is
 * the most that it waits: an agent may be away, older than streams, or have no room for another;
 * it is tried again, later each time, by further calls.
 */
void agent_changes_wait(struct agent_changes *changes, int64_t interval_ms, bool always);

/* Whether a stream tells of changes now. */
bool agent_changes_heard(const struct agent_changes *changes);
