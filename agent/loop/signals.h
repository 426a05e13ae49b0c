/* SPDX-License-Identifier: Apache-2.0 */
/* The signals by which a service manager and an operator steer a daemon. */
#pragma once

#include <systemd/sd-event.h>

/*
 * Blocks SIGTERM, SIGINT and SIGHUP for this thread and takes them in by the loop: the first two
 * call `on_end` (NULL: the loop ends with 0), SIGHUP calls `on_reload`. The sources are the loop's.
 * Returns 0 or -errno.
 */
int signals_add(sd_event *event, sd_event_signal_handler_t on_end,
                sd_event_signal_handler_t on_reload, void *context);
