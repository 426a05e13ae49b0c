// SPDX-License-Identifier: Apache-2.0
/*
 * See idle_peer.h. Without memory or descriptors no connection is watched: then a failed request
 * shows that the peer has shut down.
 */
#include "client/idle_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "loop/timer.h"

enum { SETTLE_MS = 100, PAUSE_MS = 1000 };

struct idle_peer {
    sd_event *event;
    sd_event_source *source; /* owns the descriptor; NULL: nothing is watched */
    int port;                /* its local one */
    struct timer *timer;
    int64_t told_ms; /* when it was reported last; 0: never */
    void (*closed)(void *context);
    void *context;
};

static void forget(struct idle_peer *peer)
{
    peer->source = sd_event_source_disable_unref(peer->source);
    peer->port = 0;
    timer_disarm(peer->timer);
}

static void end(struct idle_peer *peer)
{
    int64_t pause_ms = peer->told_ms ? peer->told_ms + PAUSE_MS - clock_mono_ms() : 0;
    forget(peer);
    timer_arm(peer->timer, MAX(pause_ms, SETTLE_MS));
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *context)
{
    struct idle_peer *peer = context;
    (void)source, (void)fd, (void)events;
    end(peer);
    return 0;
}

static void on_settled(void *context)
{
    struct idle_peer *peer = context;
    peer->told_ms = clock_mono_ms();
    peer->closed(peer->context);
}

int idle_peer_new(sd_event *event, void (*closed)(void *context), void *context,
                  struct idle_peer **ret_peer)
{
    CLEANUP(idle_peer_freep) struct idle_peer *peer = calloc(1, sizeof(*peer));
    if (!peer)
        return -ENOMEM;
    peer->event = event;
    peer->closed = closed;
    peer->context = context;
    int r = timer_new(event, SD_EVENT_PRIORITY_NORMAL, on_settled, peer, &peer->timer);
    if (r < 0)
        return r;
    *ret_peer = TAKE_PTR(peer);
    return 0;
}

void idle_peer_watch(struct idle_peer *peer, int fd, int port)
{
    if (peer->source && peer->port == port)
        return;
    forget(peer);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own < 0)
        return;
    if (sd_event_add_io(peer->event, &peer->source, own, EPOLLRDHUP, on_end, peer) < 0) {
        peer->source = NULL;
        (void)close(own);
        return;
    }
    (void)sd_event_source_set_io_fd_own(peer->source, 1);
    peer->port = port;
}

void idle_peer_end(struct idle_peer *peer, int port)
{
    if (peer->source && peer->port == port)
        end(peer);
}

bool idle_peer_watches(const struct idle_peer *peer)
{
    return peer->source != NULL;
}

void idle_peer_free(struct idle_peer *peer)
{
    if (!peer)
        return;
    if (peer->timer)
        forget(peer);
    timer_free(peer->timer);
    free(peer);
}
