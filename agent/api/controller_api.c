// SPDX-License-Identifier: Apache-2.0
/* The controller's table of routes; see controller_api.h. */
#include "api/controller_api.h"

#include <string.h>

#include "api/document.h"
#include "api/egress/view_egress_workloads.h"
#include "api/export/view_exports.h"
#include "api/fault_list.h"
#include "api/pods/view_cluster_blocks.h"
#include "api/reply.h"
#include "api/router.h"
#include "api/view.h"

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

/* As agentd tells of the pools of its folder. */
static void view_controller_pools(const struct controller_state *state, struct text *out)
{
    const struct api_state allocator = {
        .pools = &state->allocator->table,
        .assignments = &state->allocator->assignments,
        .allocator = state->allocator,
    };
    view_pools(&allocator, out);
}

static bool has_allocator(const struct controller_state *state)
{
    return state->allocator != NULL;
}

static bool has_exports(const struct controller_state *state)
{
    return state->exports.plan != NULL;
}

static const struct controller_route {
    struct route_head head;
    void (*view)(const struct controller_state *state, struct text *out); /* NULL: FaultList */
    bool (*is_known)(const struct controller_state *state); /* NULL: to leader and follower alike */
    const char *unknown; /* what the leader says where it is not known */
} routes[] = {
    { { "GET", "/v1/controller", RIGHT_READ }, view_controller },
    { { "GET", "/v1/faults", RIGHT_READ }, NULL },
    { { "GET", "/v1/pools", RIGHT_READ },
      view_controller_pools,
      has_allocator,
      "addresses are not given: addresses.enabled is false, or the record of claims has not been "
      "read (agentctl controller)" },
    { { "GET", "/v1/exports", RIGHT_READ },
      view_exports,
      has_exports,
      "nothing is exported: consul.clusterID is not set in controller.yaml, or not every object "
      "has been read (agentctl controller)" },
    { { "GET", "/v1/address-blocks", RIGHT_READ }, view_cluster_blocks },
    { { "GET", "/v1/block-requests", RIGHT_READ }, view_block_requests },
    { { "GET", "/v1/egress-workloads", RIGHT_READ }, view_egress_workloads },
};

/* Who does not decide says who does. */
static void reply_unknown(const struct controller_state *state, const char *unknown,
                          struct http_reply *reply)
{
    const struct election_status *election = &state->status->election;
    AUTOFREE char *message = NULL;
    if (election->leading)
        reply_error(reply, 503, unknown);
    else if (*election->holder)
        message = text_format("only the leader knows: ask %s", election->holder);
    else
        reply_error(reply, 503, "only the leader knows, and nobody leads");
    if (message)
        reply_error(reply, 503, message);
}

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
    } else if (!refused && route->is_known && !route->is_known(context)) {
        reply_unknown(context, route->unknown, reply);
    } else if (!refused && !route->view) {
        reply_fault_list(((const struct controller_state *)context)->status->faults, request,
                         reply);
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
