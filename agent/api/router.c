// SPDX-License-Identifier: Apache-2.0
/*
 * Routing of requests; see router.h. Called by the HTTP server of loop/http.h, once when the
 * headers of a request are there and once with its body. Who may not call is refused before any of
 * the body is taken. Errors are JSON, but for the probes, whose readers are people with curl and
 * the kubelet.
 */
#include "api/router.h"

#include <string.h>

#include "api/body.h"
#include "api/reply.h"

static const char text_plain[] = "text/plain; charset=utf-8";

static bool is_path(const char *path, const char *asked)
{
    size_t length = strlen(path);
    return path[length - 1] == '/' ? strncmp(asked, path, length) == 0 : strcmp(asked, path) == 0;
}

static const struct route_head *find(const struct router *router,
                                     const struct http_request *request)
{
    const char *row = router->rows;
    for (size_t i = 0; i < router->count; i++, row += router->size) {
        const struct route_head *head = (const void *)row;
        if (strcmp(request->method, head->method) == 0 && is_path(head->path, request->path))
            return head;
    }
    return NULL;
}

static bool is_refused(const struct route_head *head, const struct http_request *request,
                       struct http_reply *reply)
{
    if (head->right == RIGHT_READ || (request->peer_known && request->peer_uid == 0))
        return false;
    reply_error(reply, 403, "only root may do this");
    return true;
}

size_t router_admit(const struct router *router, const struct http_request *request,
                    struct http_reply *reply)
{
    const struct route_head *head = find(router, request);
    if (!head)
        return 0;
    if (!is_refused(head, request, reply) && head->body_max && http_has_body(request) &&
        !body_is_json(request))
        reply_error(reply, 415, "a body is JSON (Content-Type: application/json)");
    return head->body_max;
}

const void *router_find(const struct router *router, const struct http_request *request,
                        struct http_reply *reply, bool *ret_refused)
{
    const struct route_head *head = find(router, request);
    *ret_refused = head && is_refused(head, request, reply);
    return head;
}

void public_handle(const struct public_pages *pages, const void *state,
                   const struct http_request *request, struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    if (strcmp(request->method, "GET") != 0) {
        reply_error(reply, 405, "only GET is served");
    } else if (strcmp(request->path, "/metrics") == 0) {
        pages->metrics(state, &out);
        reply_text(reply, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
    } else if (strcmp(request->path, "/livez") == 0) {
        text_add(&out, "ok\n"); /* that this runs is the proof: the loop serves requests */
        reply_text(reply, 200, text_plain, &out);
    } else if (strcmp(request->path, "/readyz") == 0) {
        bool is_ready = pages->is_ready(state, &out);
        text_add(&out, is_ready ? "ok\n" : "");
        reply_text(reply, is_ready ? 200 : 503, text_plain, &out);
    } else {
        reply_error(reply, 404, "no such path");
    }
}
