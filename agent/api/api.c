// SPDX-License-Identifier: Apache-2.0
/*
 * The routing of requests: one table of paths, one of the documents' functions behind each.
 *
 * Called by the HTTP server of loop/http.h, once per request and inside the event loop, so that
 * what is borrowed here holds still while a document is written. Every document is written whole
 * into memory: with 10,000 addresses that is a few MiB for a moment, and a slow reader holds back
 * only its own reply.
 *
 * GET reads; POST runs an action, for root only. Errors are JSON as well ({"error": "..."}), but
 * for the probes, whose readers are people with curl and the kubelet.
 */
#include "api/api.h"

#include <string.h>

#include "base/cleanup.h"
#include "format/json.h"

static const char text_plain[] = "text/plain; charset=utf-8";

typedef void (*view_function)(const struct api_state *state, struct text *out);

static const struct {
    const char *path;
    view_function view;
} documents[] = {
    { "/v1/status", view_status },     { "/v1/routes", view_routes }, { "/v1/blocks", view_blocks },
    { "/v1/services", view_services }, { "/v1/peers", view_peers },   { "/v1/faults", view_faults },
    { "/v1/diff", view_diff },
};

/* Hands the text over; without memory the reply is a bare 500. */
static void reply_text(struct http_reply *reply, unsigned status, const char *content_type,
                       struct text *body)
{
    reply->content_type = content_type;
    reply->size = body->length;
    reply->body = text_take(body);
    reply->status = reply->body ? status : 500;
    if (!reply->body)
        reply->size = 0;
}

static void reply_document(struct http_reply *reply, unsigned status, struct text *document)
{
    text_add_char(document, '\n');
    reply_text(reply, status, "application/json", document);
}

static void reply_error(struct http_reply *reply, unsigned status, const char *message)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };

    json_begin_object(&json, NULL);
    json_string(&json, "error", message);
    json_end_object(&json);
    reply_document(reply, status, &out);
}

static void reply_metrics(const struct api_state *state, struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    view_metrics(state, &out);
    reply_text(reply, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}

/* That this runs is the proof: the loop serves requests. */
static void reply_livez(struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    text_add(&out, "ok\n");
    reply_text(reply, 200, text_plain, &out);
}

static void reply_readyz(const struct status *status, struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    if (status->routes.complete)
        text_add(&out, "ok\n");
    else if (!status->source.synced)
        text_addf(&out, "not ready: %s have not been read yet\n", status->source.name);
    else
        text_add(&out, "not ready: the first complete pass is still to come\n");
    reply_text(reply, status->routes.complete ? 200 : 503, text_plain, &out);
}

static void reply_explain(const struct api_state *state, const struct http_request *request,
                          struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    const char *argument = http_query(request, "address");
    struct ip address;

    if (!argument || ip_parse(argument, &address) < 0)
        reply_error(reply, 400, "address=ADDRESS is needed, an IPv4 or IPv6 address");
    else if (view_explain(state, &address, &out))
        reply_document(reply, 200, &out);
    else
        reply_error(reply, 404, "no service has this address and no block of this node covers it");
}

void api_handle_public(const struct http_request *request, struct http_reply *reply, void *context)
{
    const struct api_state *state = context;

    if (strcmp(request->method, "GET") != 0)
        reply_error(reply, 405, "only GET is served");
    else if (strcmp(request->path, "/metrics") == 0)
        reply_metrics(state, reply);
    else if (strcmp(request->path, "/livez") == 0)
        reply_livez(reply);
    else if (strcmp(request->path, "/readyz") == 0)
        reply_readyz(state->status, reply);
    else
        reply_error(reply, 404, "no such path");
}

static void reply_view(const struct api_state *state, view_function view, struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    view(state, &out);
    reply_document(reply, 200, &out);
}

/* Who may connect may read; only root may ask for changes (SO_PEERCRED). */
static void run_action(const struct api *api, const struct api_action *action,
                       const struct http_request *request, struct http_reply *reply)
{
    if (!request->peer_known || request->peer_uid != 0) {
        reply_error(reply, 403, "only root may do this");
        return;
    }
    int r = action->run(api->action_context);
    if (r < 0)
        reply_error(reply, 500, strerror(-r));
    else
        reply_view(api->state, view_status, reply);
}

static bool handle_post(const struct api *api, const struct http_request *request,
                        struct http_reply *reply)
{
    for (size_t i = 0; i < api->action_count; i++) {
        if (strcmp(request->path, api->actions[i].path) != 0)
            continue;
        run_action(api, &api->actions[i], request, reply);
        return true;
    }
    return false;
}

static bool handle_get(const struct api_state *state, const struct http_request *request,
                       struct http_reply *reply)
{
    if (strcmp(request->path, "/v1/explain") == 0) {
        reply_explain(state, request, reply);
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        if (strcmp(request->path, documents[i].path) == 0) {
            reply_view(state, documents[i].view, reply);
            return true;
        }
    }
    return false;
}

void api_handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    const struct api *api = context;

    if (strcmp(request->method, "GET") == 0 && handle_get(api->state, request, reply))
        return;
    if (strcmp(request->method, "POST") == 0 && handle_post(api, request, reply))
        return;
    api_handle_public(request, reply, (void *)api->state);
}
