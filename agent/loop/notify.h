/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the service manager of the agent's state (sd_notify's protocol), without ever waiting for
 * it: libsystemd's own call blocks while the manager's queue is full.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"

struct notifier;

/* Without NOTIFY_SOCKET in the environment nothing is sent. Returns 0 or -errno. */
int notifier_new(sd_event *event, struct notifier **ret_notifier);
void notifier_free(struct notifier *notifier);
DEFINE_CLEANUP(struct notifier *, notifier_free);

/*
 * From now on tells the manager at half the interval that it asks for that the agent is alive: from
 * the loop, at this priority, so not while what has this priority is starved. Returns 0, also if
 * the manager does not watch, or -errno.
 */
int notifier_feed_watchdog(struct notifier *notifier, sd_event *event, int64_t priority);

/* "READY=1", "STOPPING=1": each is delivered, in order. */
void notifier_send(struct notifier *notifier, const char *message);

/* "RELOADING=1" with the time at which it began, as Type=notify-reload wants it; READY=1 ends it.
 */
void notifier_reloading(struct notifier *notifier);

/* The STATUS text; only the newest counts, and only if it differs from the last one. */
void notifier_status(struct notifier *notifier, const char *text);
