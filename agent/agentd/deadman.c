// SPDX-License-Identifier: Apache-2.0
/*
 * Watches the agent's lock file; see deadman.h.
 *
 * The kernel closes the file however the agent ends, and inotify tells of that close, so that
 * nothing is polled while the agent lives. Whether anybody has the lock is asked by trying it, at
 * the end of the wait only: a start of the agent in that very moment would be refused by its own
 * lock, and is repeated by the service manager. Trying the lock closes the file as well, so that an
 * absence is looked at again after every further routes.deadman.
 */
#include "agentd/deadman.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <systemd/sd-event.h>

#include "apply/cleanup.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/files/lock.h"
#include "base/log.h"
#include "loop/timer.h"

struct deadman {
    const struct config *config;
    struct timer *timer;
};

static void withdraw(const struct config *config)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct cleanup_counts counts = { 0 };
    int r = cleanup_kernel(config->routes.table, CLEANUP_SERVICE_ADDRESSES, &counts, &faults);
    vec_each(const struct fault, fault, &faults.list)
        log_error("%s: %s", fault->place, fault->message);
    if (r < 0 && r != -EIO)
        log_error("cannot withdraw: %s", strerror(-r));
    if (counts.routes == 0)
        return;
    char routes[16];
    snprintf(routes, sizeof(routes), "%u", counts.routes);
    log_event(&event_deadman, LOG_FIELDS({ "ROUTES", routes }),
              "no agent runs here: %s service routes withdrawn", routes);
}

static void on_time(void *context)
{
    struct deadman *deadman = context;
    pid_t holder = 0;
    AUTOCLOSE int lock = lock_take(deadman->config->paths.state, &holder);
    if (lock == -EBUSY)
        return; /* the agent is back */
    if (lock < 0)
        log_error("cannot try the agent's lock: %s", strerror(-lock));
    else
        withdraw(deadman->config);
}

static int on_lock_file(sd_event_source *source, const struct inotify_event *event, void *context)
{
    struct deadman *deadman = context;
    (void)source;
    if (event->len && strcmp(event->name, "lock") == 0)
        timer_arm(deadman->timer, deadman->config->routes.deadman_ms);
    return 0;
}

static int add_signals(sd_event *event)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
        return -errno;
    int r = sd_event_add_signal(event, NULL, SIGTERM, NULL, NULL);
    return r < 0 ? r : sd_event_add_signal(event, NULL, SIGINT, NULL, NULL);
}

int deadman_run(const struct config *config)
{
    struct deadman deadman = { .config = config };
    if (config->routes.deadman_ms == 0) {
        log_notice("routes.deadman is off: nothing to watch");
        return 0;
    }
    CLEANUP(sd_event_unrefp) sd_event *event = NULL;
    CLEANUP(timer_freep) struct timer *timer = NULL;
    /* Not floating: such an inotify source keeps systemd 252's loop from ever being freed. */
    CLEANUP(sd_event_source_disable_unrefp) sd_event_source *watch = NULL;
    int r = sd_event_new(&event);
    if (r >= 0)
        r = add_signals(event);
    if (r >= 0)
        r = timer_new(event, SD_EVENT_PRIORITY_NORMAL, on_time, &deadman, &timer);
    deadman.timer = timer;
    if (r >= 0)
        r = sd_event_add_inotify(event, &watch, config->paths.state, IN_CLOSE_WRITE, on_lock_file,
                                 &deadman);
    if (r < 0) {
        log_error("cannot watch %s: %s", config->paths.state, strerror(-r));
        return r;
    }
    timer_arm(timer, config->routes.deadman_ms);
    return sd_event_loop(event);
}
