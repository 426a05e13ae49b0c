// SPDX-License-Identifier: Apache-2.0
/* In place of api/changes.c, which has tests of its own: answers at once, and needs no loop. */
#include "fake_changes.h"

#include <string.h>

#include "api/changes.h"

uint64_t changes_awaited;

void api_changes_await(struct api_changes *changes, const struct http_request *request,
                       uint64_t generation, struct http_reply *reply)
{
    (void)changes, (void)request;
    changes_awaited = generation;
    reply->status = 200;
    reply->content_type = "application/json";
    reply->body = strdup("awaited\n");
    reply->size = strlen(reply->body);
}

void api_changes_stream(struct api_changes *changes, const struct http_request *request,
                        struct http_reply *reply)
{
    (void)changes, (void)request;
    reply->status = 200;
    reply->content_type = "application/x-ndjson";
    reply->body = strdup("streamed\n");
    reply->size = strlen(reply->body);
}
