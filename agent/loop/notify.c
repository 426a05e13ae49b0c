// SPDX-License-Identifier: Apache-2.0
/*
 * Messages to the service manager; see notify.h.
 *
 * What its queue does not take is kept and sent a moment later. NOTIFY_SOCKET is a path, or an
 * abstract name behind an "@" (sd_notify(3)).
 *
 * sd-event could feed the watchdog itself, but it does so whenever the loop turns, even if a flood
 * of more important events keeps every pass from running. The timer here is given the passes' own
 * priority, and sources of one priority take turns: it starves when they do.
 */
#include "loop/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "loop/timer.h"

enum { AGAIN_MS = 100 };

typedef char *string;

struct notifier {
    int fd; /* -1: nobody wants to know */
    struct sockaddr_un address;
    socklen_t address_size;
    struct timer *again;
    VEC(string) waiting; /* in order */
    char *status;        /* the newest text */
    bool status_waiting;
    struct timer *watchdog; /* NULL: the manager does not watch */
    int64_t watchdog_ms;
};

/* True if the manager has it, or never will. */
static bool deliver(struct notifier *notifier, const char *message)
{
    ssize_t n = sendto(notifier->fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT,
                       (const struct sockaddr *)&notifier->address, notifier->address_size);
    return n >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

static bool deliver_status(struct notifier *notifier)
{
    AUTOFREE char *message = text_format("STATUS=%s", notifier->status);
    return message && deliver(notifier, message);
}

static void flush(void *context)
{
    struct notifier *notifier = context;
    size_t sent = 0;
    while (sent < notifier->waiting.count && deliver(notifier, notifier->waiting.items[sent]))
        free(notifier->waiting.items[sent++]);
    notifier->waiting.count -= sent;
    if (sent)
        memmove(notifier->waiting.items, notifier->waiting.items + sent,
                notifier->waiting.count * sizeof(string));
    if (notifier->waiting.count == 0 && notifier->status_waiting)
        notifier->status_waiting = !deliver_status(notifier);
    if (notifier->waiting.count || notifier->status_waiting)
        timer_arm(notifier->again, AGAIN_MS);
}

void notifier_send(struct notifier *notifier, const char *message)
{
    if (notifier->fd < 0)
        return;
    string copy = strdup(message);
    if (!copy || vec_push(&notifier->waiting, copy) < 0)
        free(copy);
    flush(notifier);
}

void notifier_reloading(struct notifier *notifier)
{
    AUTOFREE char *message =
        text_format("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us());
    if (message)
        notifier_send(notifier, message);
}

void notifier_status(struct notifier *notifier, const char *text)
{
    if (notifier->fd < 0 || (notifier->status && strcmp(notifier->status, text) == 0))
        return;
    char *copy = strdup(text);
    if (!copy)
        return;
    free(notifier->status);
    notifier->status = copy;
    notifier->status_waiting = true;
    flush(notifier);
}

/* A word that the queue does not take is not kept: the next one says the same. */
static void feed_watchdog(void *context)
{
    struct notifier *notifier = context;
    (void)deliver(notifier, "WATCHDOG=1");
    timer_arm(notifier->watchdog, notifier->watchdog_ms);
}

int notifier_feed_watchdog(struct notifier *notifier, sd_event *event, int64_t priority)
{
    uint64_t limit_us;
    int r = sd_watchdog_enabled(0, &limit_us);
    if (r <= 0 || notifier->fd < 0)
        return r < 0 ? r : 0;
    r = timer_new(event, priority, feed_watchdog, notifier, &notifier->watchdog);
    if (r < 0)
        return r;
    notifier->watchdog_ms = (int64_t)(limit_us / 2000);
    timer_arm(notifier->watchdog, 0);
    return 0;
}

static int open_socket(struct notifier *notifier, const char *name)
{
    size_t length = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || length >= sizeof(notifier->address.sun_path))
        return -EINVAL;
    notifier->address.sun_family = AF_UNIX;
    memcpy(notifier->address.sun_path, name, length);
    if (name[0] == '@')
        notifier->address.sun_path[0] = '\0';
    notifier->address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    notifier->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return notifier->fd < 0 ? -errno : 0;
}

int notifier_new(sd_event *event, struct notifier **ret_notifier)
{
    CLEANUP(notifier_freep) struct notifier *notifier = calloc(1, sizeof(*notifier));
    if (!notifier)
        return -ENOMEM;
    notifier->fd = -1;
    const char *name = getenv("NOTIFY_SOCKET");
    int r = timer_new(event, SD_EVENT_PRIORITY_NORMAL, flush, notifier, &notifier->again);
    if (r < 0)
        return r;
    if (name && *name)
        r = open_socket(notifier, name);
    if (r < 0)
        return r;
    *ret_notifier = TAKE_PTR(notifier);
    return 0;
}

void notifier_free(struct notifier *notifier)
{
    if (!notifier)
        return;
    vec_each(string, message, &notifier->waiting)
        free(*message);
    vec_done(&notifier->waiting);
    timer_free(notifier->again);
    timer_free(notifier->watchdog);
    closep(&notifier->fd);
    free(notifier->status);
    free(notifier);
}
