// SPDX-License-Identifier: Apache-2.0
/*
 * Replies as the API makes them. Every document is written whole into memory: with 10,000 addresses
 * that is a few MiB for a moment, and a slow reader holds back only its own reply.
 */
#include "api/reply.h"

#include "format/json.h"

void reply_text(struct http_reply *reply, unsigned status, const char *content_type,
                struct text *body)
{
    reply->content_type = content_type;
    reply->size = body->length;
    reply->body = text_take(body);
    reply->status = reply->body ? status : 500;
    if (!reply->body)
        reply->size = 0;
}

void reply_document(struct http_reply *reply, unsigned status, struct text *document)
{
    text_add_char(document, '\n');
    reply_text(reply, status, "application/json", document);
}

void reply_error(struct http_reply *reply, unsigned status, const char *message)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };

    json_begin_object(&json, NULL);
    json_string(&json, "error", message);
    json_end_object(&json);
    reply_document(reply, status, &out);
}

void reply_faults(struct http_reply *reply, unsigned status, const struct faults *faults)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };

    if (faults->list.count == 0) { /* there was no memory to say it */
        reply_error(reply, 500, "out of memory");
        return;
    }
    const struct fault *first = &faults->list.items[0];
    json_begin_object(&json, NULL);
    json_stringf(&json, "error", "%s: %s", first->place, first->message);
    json_string(&json, "place", first->place);
    json_end_object(&json);
    reply_document(reply, status, &out);
}
