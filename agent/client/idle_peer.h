/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that goes down in order closes its idle connections at once, and waits for those that are
 * in use. This watches one idle connection of a server, and says when the server has closed it: who
 * has a request there that never ends may hold the server up. A balancer closes them, too, so it is
 * said once in a second at most. Used by client/etcd/etcd_peer.c.
 *
 * The connection is libcurl's, which may use it again or close it meanwhile. A duplicate of its
 * descriptor is watched for nothing but the peer's end, so neither disturbs the other; it keeps the
 * connection open, so that whoever knows that libcurl has closed it says so.
 */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

struct idle_peer;

/* `closed` is called from the loop, a moment after the peer has closed: it listens no more by then.
 * Returns 0 or -errno. */
int idle_peer_new(sd_event *event, void (*closed)(void *context), void *context,
                  struct idle_peer **ret_peer);

/* Watches this connection, in place of the one before; `port` is its local one. */
void idle_peer_watch(struct idle_peer *peer, int fd, int port);
/* The connection of this local port is over at our end: as if the peer had closed it. */
void idle_peer_end(struct idle_peer *peer, int port);
bool idle_peer_watches(const struct idle_peer *peer);

void idle_peer_free(struct idle_peer *peer);
DEFINE_CLEANUP(struct idle_peer *, idle_peer_free);
