// SPDX-License-Identifier: Apache-2.0
/*
 * A daemon's signals, as events of its loop; agentd and agent-controller have the same three.
 *
 * sd-event reads them from a signalfd, and so they have to be blocked before they are added
 * (sd_event_add_signal(3)); where no handler is given, sd-event ends the loop, and
 * takes the handler's context for the status to end it with.
 */
#include "loop/signals.h"

#include <errno.h>
#include <signal.h>

int signals_add(sd_event *event, sd_event_signal_handler_t on_end,
                sd_event_signal_handler_t on_reload, void *context)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
        return -errno;
    void *end_context = on_end ? context : NULL; /* without a handler it is the loop's status */
    int r = sd_event_add_signal(event, NULL, SIGTERM, on_end, end_context);
    if (r >= 0)
        r = sd_event_add_signal(event, NULL, SIGINT, on_end, end_context);
    if (r >= 0)
        r = sd_event_add_signal(event, NULL, SIGHUP, on_reload, context);
    return r < 0 ? r : 0;
}
