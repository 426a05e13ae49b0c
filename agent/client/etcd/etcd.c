// SPDX-License-Identifier: Apache-2.0
/* A client of etcd; see etcd.h. Called by segment/etcd_store.c and segment/etcd_watch.c. */
#include "client/etcd/etcd.h"

#include <errno.h>
#include <stdlib.h>

#include "client/etcd/etcd_inside.h"

int etcd_client_new(sd_event *event, const struct etcd_where *where,
                    struct etcd_client **ret_client)
{
    CLEANUP(etcd_client_freep) struct etcd_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->where = *where;
    client->event = event;
    int r = where->endpoint_count ? curl_loop_new(event, &client->loop) : -EINVAL;
    if (r < 0)
        return r;
    r = etcd_peers_begin(client);
    if (r < 0)
        return r;
    if (where->user)
        r = etcd_session_begin(client);
    if (r < 0)
        return r;
    *ret_client = TAKE_PTR(client);
    return 0;
}

void etcd_client_free(struct etcd_client *client)
{
    if (!client)
        return;
    etcd_session_end(client);
    etcd_peers_end(client);
    curl_loop_free(client->loop);
    vec_done(&client->watches);
    free(client);
}

int etcd_send(struct etcd_client *client, const struct etcd_call *call,
              struct etcd_request **ret_request)
{
    return etcd_send_to(client, call, client->current, ETCD_ASKS, ret_request);
}

void etcd_cancel(struct etcd_request *request)
{
    etcd_drop(request);
}
