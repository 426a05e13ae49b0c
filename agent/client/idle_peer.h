/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that shuts down gracefully closes its idle connections at once and waits for those in
 * use. This watches one idle connection of a server and reports when the server has closed it: a
 * request that never ends may delay the server's shutdown. A load balancer closes idle connections,
 * too, so this is reported at most once in a second. Used by client/etcd/etcd_peer.c.
 *
 * The connection is libcurl's, which may reuse or close it meanwhile. A duplicate of its descriptor
 * is watched only for the peer's close, so neither disturbs the other. The duplicate keeps the
 * connection open, so the caller has to call idle_peer_end() when libcurl has closed its
 * descriptor.
 */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

struct idle_peer;

/*
 * `closed` is called from the loop, a moment after the peer has closed: by then the peer does not
 * listen any more. Returns 0 or -errno.
 */
int idle_peer_new(sd_event *event, void (*closed)(void *context), void *context,
                  struct idle_peer **ret_peer);

/* Watches this connection instead of the one before; `port` is its local port. */
void idle_peer_watch(struct idle_peer *peer, int fd, int port);
/* The connection of this local port was closed at our end: treated as if the peer had closed it. */
void idle_peer_end(struct idle_peer *peer, int port);
bool idle_peer_watches(const struct idle_peer *peer);

void idle_peer_free(struct idle_peer *peer);
DEFINE_CLEANUP(struct idle_peer *, idle_peer_free);
