// SPDX-License-Identifier: Apache-2.0
/* The controller's table of routes; see controller_api.h. */
#include "api/controller_api.h"

#include <string.h>

#include "api/document.h"
#include "api/reply.h"
#include "api/router.h"

static void write_metrics(const void *state, struct text *out)
{
    view_controller_metrics(state, out);
}

/* Leader and follower alike: a follower is ready to lead. */
static bool is_ready(const void *state, struct text *out)
{
    const struct controller_status *status = ((const struct controller_state *)state)->status;

    if (!status->source.synced)
        text_add(out, "not ready: the Kubernetes API has not been read yet\n");
    else if (!status->election.seen)
        text_add(out, "not ready: the Lease has not been seen yet\n");
    return status->source.synced && status->election.seen;
}

static void view_controller_faults(const struct controller_state *state, struct text *out)
{
    struct json json = view_begin(out, "FaultList");
    write_known_faults(&json, "items", state->status->faults);
    view_end(&json);
}

static const struct controller_route {
    struct route_head head;
    void (*view)(const struct controller_state *state, struct text *out);
} routes[] = {
    { { "GET", "/v1/controller", RIGHT_READ }, view_controller },
    { { "GET", "/v1/faults", RIGHT_READ }, view_controller_faults },
};

static const struct router router = ROUTER(routes);
static const struct public_pages pages = { write_metrics, is_ready };

void controller_api_handle(const struct http_request *request, struct http_reply *reply,
                           void *context)
{
    AUTOTEXT struct text out = { 0 };
    bool refused;
    const struct controller_route *route = router_find(&router, request, reply, &refused);

    if (!route) {
        public_handle(&pages, context, request, reply);
    } else if (!refused) {
        route->view(context, &out);
        reply_document(reply, 200, &out);
    }
}

/* /healthz is what kube-service-exporter's probes ask for; it says what /livez does. */
void controller_api_handle_public(const struct http_request *request, struct http_reply *reply,
                                  void *context)
{
    struct http_request asked = *request;
    if (strcmp(request->path, "/healthz") == 0)
        asked.path = "/livez";
    public_handle(&pages, context, &asked, reply);
}
