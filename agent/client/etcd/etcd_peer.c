// SPDX-License-Identifier: Apache-2.0
/*
 * Detects etcd endpoints that shut down, and ends the watches there. Called by etcd.c.
 *
 * An etcd that is stopped gracefully accepts no more connections, closes idle ones, and waits for
 * all requests to end, for seven seconds at most. A watch does not end by itself, and while etcd
 * waits for it no claim can be renewed. So each endpoint that a watch was sent to is queried for
 * its version over another connection, which then is idle (idle_peer.h). When that connection is
 * closed the endpoint is queried again, since load balancers close idle connections, too. An
 * endpoint that does not answer this is shutting down, and its watches are ended; their owner
 * starts them again.
 */
#include <errno.h>
#include <stdlib.h>

#include "client/etcd/etcd_inside.h"
#include "client/idle_peer.h"

enum {
    PROBE_MS = 5000,
    PROBE_BYTES = 4096,
};

struct etcd_peer {
    struct etcd_client *client;
    struct idle_peer *idle;
    struct etcd_request *probe; /* NULL: none is under way */
};

static size_t number_of(const struct etcd_peer *peer)
{
    return (size_t)(peer - peer->client->peers);
}

static struct etcd_request *watch_at(const struct etcd_peer *peer)
{
    const struct etcd_client *client = peer->client;
    for (size_t i = 0; i < client->watches.count; i++) {
        struct etcd_request *watch = client->watches.items[i];
        if (watch->sent && watch->endpoint == number_of(peer))
            return watch;
    }
    return NULL;
}

/* One at a time: the callback may begin another request. */
static void end_watches(const struct etcd_peer *peer)
{
    const struct etcd_answer over = { .status = 200, .body = "" }; /* as after its time limit */
    struct etcd_request *watch;
    while ((watch = watch_at(peer)))
        etcd_end(watch, &over);
}

static void on_probed(void *context, const struct etcd_answer *answer)
{
    struct etcd_peer *peer = context;
    peer->probe = NULL;
    if (answer->status == 0)
        end_watches(peer);
}

static void probe(struct etcd_peer *peer)
{
    const struct etcd_call call = {
        .path = "/version",
        .limit_ms = PROBE_MS,
        .answer_bytes = PROBE_BYTES,
        .done = on_probed,
        .context = peer,
    };
    if (!peer->probe)
        (void)etcd_send_to(peer->client, &call, number_of(peer), ETCD_PROBES, &peer->probe);
}

static void on_closed(void *context)
{
    struct etcd_peer *peer = context;
    if (watch_at(peer))
        probe(peer);
}

void etcd_peer_watched(struct etcd_client *client, size_t endpoint)
{
    struct etcd_peer *peer = &client->peers[endpoint];
    if (!idle_peer_watches(peer->idle))
        probe(peer);
}

void etcd_peer_note(const struct etcd_request *request, CURLcode code)
{
    struct etcd_peer *peer = &request->client->peers[request->endpoint];
    const struct curl_transfer *transfer = &request->exchange.transfer;
    long port = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_LOCAL_PORT, &port);
    if (request->call.data)
        return;
    if (code == CURLE_OK && transfer->socket != CURL_SOCKET_BAD)
        idle_peer_watch(peer->idle, transfer->socket, (int)port);
    else
        idle_peer_end(peer->idle, (int)port);
    if (code == CURLE_COULDNT_CONNECT)
        end_watches(peer);
}

int etcd_peers_begin(struct etcd_client *client)
{
    const size_t count = client->where.endpoint_count;
    int r = 0;
    client->peers = calloc(count, sizeof(*client->peers));
    if (!client->peers)
        return -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++) {
        struct etcd_peer *peer = &client->peers[i];
        peer->client = client;
        r = idle_peer_new(client->event, on_closed, peer, &peer->idle);
    }
    return r;
}

void etcd_peers_end(struct etcd_client *client)
{
    for (size_t i = 0; client->peers && i < client->where.endpoint_count; i++) {
        etcd_drop(client->peers[i].probe);
        idle_peer_free(client->peers[i].idle);
    }
    free(client->peers);
}
