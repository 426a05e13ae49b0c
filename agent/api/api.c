// SPDX-License-Identifier: Apache-2.0
/*
 * The routing of requests: one table of method, path, who may call, and the function behind it.
 *
 * Called by the HTTP server of loop/http.h, inside the event loop, so that what is borrowed here
 * holds still while a document is written: once when the headers of a request are there
 * (api_admit()), once with its body.
 *
 * GET reads; POST runs an action, for root only, whose arguments are the members of a JSON object.
 * Who may not call is refused before any of the body is taken. Errors are JSON as well ({"error":
 * "..."}), but for the probes, whose readers are people with curl and the kubelet.
 */
#include "api/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/body.h"
#include "api/claims/view_explain_holder.h"
#include "api/fault_list.h"
#include "api/reply.h"
#include "api/router.h"
#include "base/cleanup.h"

static const char no_service[] = "NAT serves no such service";

typedef void (*view_function)(const struct api_state *state, struct text *out);

static void write_metrics(const void *state, struct text *out)
{
    view_metrics(state, out);
}

static bool is_ready(const void *state, struct text *out)
{
    const struct status *status = ((const struct api_state *)state)->status;

    if (status->routes.complete)
        return true;
    if (!status_is_known(status))
        text_addf(out, "not ready: the source (%s) has not been read yet\n", status->source.name);
    else
        text_add(out, "not ready: the first complete pass is still to come\n");
    return false;
}

static const struct public_pages pages = { write_metrics, is_ready };

/* Digits, up to `max`. Returns 0 or -EINVAL. */
static int parse_digits(const char *argument, unsigned long max, size_t *ret)
{
    char *end = NULL;

    errno = 0;
    unsigned long value = strtoul(argument, &end, 10);
    if (!*argument || argument[strspn(argument, "0123456789")] || *end || errno || value > max)
        return -EINVAL;
    *ret = value;
    return 0;
}

/* 1 to `max`. Returns 0, also where the argument is absent: `*ret` stays; else -EINVAL. */
static int parse_number(const char *argument, unsigned long max, size_t *ret)
{
    size_t value;

    if (!argument)
        return 0;
    if (parse_digits(argument, max, &value) < 0 || value < 1)
        return -EINVAL;
    *ret = value;
    return 0;
}

/* The address of the request, or of the Node or the Pod that it names: 0, or the status to answer.
 */
static int parse_explained(const struct api *api, const struct http_request *request,
                           struct ip *ret_ip)
{
    const char *address = http_query(request, "address");
    const char *node = http_query(request, "node"), *pod = http_query(request, "pod");

    if (!address && node)
        return holder_address_of_node(api->state, node, ret_ip) ? 0 : 404;
    if (!address && pod)
        return holder_address_of_pod(api->state, pod, ret_ip) ? 0 : 404;
    return address && ip_parse(address, ret_ip) == 0 ? 0 : 400;
}

static void reply_explain(const struct api *api, const struct http_request *request,
                          struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    const char *protocol = http_query(request, "protocol");
    struct explain_query query = { 0 };
    size_t port = 0;

    const int status = parse_explained(api, request, &query.address);
    if (status) {
        reply_error(reply, status,
                    status == 400 ? "address=ADDRESS is needed, an IPv4 or IPv6 address; or "
                                    "node=NAME, or pod=NAMESPACE/NAME"
                                  : "no Node, Service or Pod that this agent knows is called so, "
                                    "or it has no address");
        return;
    }
    if (parse_number(http_query(request, "port"), UINT16_MAX, &port) < 0 ||
        (protocol && protocol_parse(protocol, &query.protocol) < 0)) {
        reply_error(reply, 400, "port is 1..65535, protocol TCP, UDP or SCTP");
        return;
    }
    query.port = (uint16_t)port;
    if (view_explain(api->state, &query, &out))
        reply_document(reply, 200, &out);
    else
        reply_error(reply, 404,
                    "no Service, Node or known pod has this address, and no block of this node "
                    "covers it");
}

static void reply_untraced(struct http_reply *reply, const char *in, int error)
{
    AUTOFREE char *unknown =
        text_format("in=%s: this node has no such interface (or \"host\")", in ? in : "");
    switch (error) {
    case -ENODEV:
        reply_error(reply, 400, unknown ? unknown : strerror(-error));
        break;
    case -EADDRNOTAVAIL:
        reply_error(reply, 400, "in: this node has no uplink to come from; name an interface");
        break;
    case -EOPNOTSUPP:
        reply_error(reply, 503,
                    "service NAT and egress are off on this node (services.enabled, egress)");
        break;
    default:
        reply_error(reply, 500, strerror(-error));
        break;
    }
}

static void reply_trace(const struct api *api, const struct http_request *request,
                        struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    CLEANUP(trace_done) struct trace trace = { 0 };
    struct trace_question question;
    const char *error = NULL;

    if (trace_question_read(request, &question, &error) < 0) {
        reply_error(reply, 400, error);
        return;
    }
    int r = api->trace ? api->trace(api->action_context, &question, &trace) : -EOPNOTSUPP;
    if (r < 0) {
        reply_untraced(reply, question.in, r);
        return;
    }
    view_trace(api->state, &question, &trace, &out);
    reply_document(reply, 200, &out);
}

/* "namespace/name", or absent. Replies, if it is anything else. */
static bool service_given(const struct http_request *request, const char **ret_service,
                          struct http_reply *reply)
{
    const char *service = http_query(request, "service");
    const char *slash = service ? strchr(service, '/') : NULL;

    *ret_service = service;
    if (!service || (slash && slash != service && slash[1] && !strchr(slash + 1, '/')))
        return true;
    reply_error(reply, 400, "service=NAMESPACE/NAME is wanted");
    return false;
}

static void reply_backends(const struct api *api, const struct http_request *request,
                           struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    const char *service;

    if (!service_given(request, &service, reply))
        return;
    if (view_backends(api->state, service, &out))
        reply_document(reply, 200, &out);
    else
        reply_error(reply, 404, no_service);
}

static void reply_faults_by_code(const struct api *api, const struct http_request *request,
                                 struct http_reply *reply)
{
    reply_fault_list(api->state->status->faults, request, reply);
}

static void reply_flows(const struct api *api, const struct http_request *request,
                        struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    const char *service;
    size_t limit = 100;

    if (!service_given(request, &service, reply))
        return;
    if (parse_number(http_query(request, "limit"), 1000000, &limit) < 0) {
        reply_error(reply, 400, "limit is a number from 1 to 1000000");
        return;
    }
    if (view_flows(api->state, service, limit, &out))
        reply_document(reply, 200, &out);
    else
        reply_error(reply, 404, no_service);
}

static void reply_maps(const struct api *api, const struct http_request *request,
                       struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    (void)request;
    view_maps(api->state, &out);
    reply_document(reply, 200, &out);
}

static void reply_verify(const struct api *api, const struct http_request *request,
                         struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    (void)request;
    view_verify(api->state, &out);
    reply_document(reply, 200, &out);
}

static void reply_egress(const struct api *api, const struct http_request *request,
                         struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    (void)request;
    if (!api->state->egress || !api->state->egress_live) {
        reply_error(reply, 503,
                    "egress is off (egress.enabled, egress.gateway), or could not start");
        return;
    }
    view_egress(api->state, &out);
    reply_document(reply, 200, &out);
}

static void reply_pod(const struct api *api, const struct http_request *request,
                      struct http_reply *reply)
{
    if (api->pods)
        pods_api_handle(api->pods, request, reply);
    else
        reply_error(reply, 404, "no such path");
}

static void reply_pools(const struct api *api, const struct http_request *request,
                        struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    (void)request;
    if (!api->state->allocator) {
        reply_error(
            reply, 503,
            "this agent gives no addresses (pools.allocate); in a cluster, agent-controller "
            "does");
        return;
    }
    view_pools(api->state, &out);
    reply_document(reply, 200, &out);
}

void api_handle_public(const struct http_request *request, struct http_reply *reply, void *context)
{
    public_handle(&pages, context, request, reply);
}

static void reply_view(const struct api_state *state, view_function view, struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };

    view(state, &out);
    reply_document(reply, 200, &out);
}

static void reply_pods(const struct api *api, const struct http_request *request,
                       struct http_reply *reply)
{
    (void)request;
    if (api->state->pods || api->state->chained)
        reply_view(api->state, view_pods, reply);
    else
        reply_error(reply, 503,
                    "this agent gives no addresses to pods (pods.enabled), and leads none by "
                    "gateways (egress.enabled)");
}

static void reply_addresses(const struct api *api, const struct http_request *request,
                            struct http_reply *reply)
{
    const struct claims_live *claims = api->state->claims;
    (void)request;
    if (claims && claims->rows)
        reply_view(api->state, view_addresses, reply);
    else
        reply_error(reply, 503, "this agent claims no addresses (addresses in agentd.yaml)");
}

/* With an argument the answer may come later. */
static void reply_status(const struct api *api, const struct http_request *request,
                         struct http_reply *reply)
{
    const char *argument = http_query(request, "applied");
    size_t generation = 0;

    if (!argument)
        reply_view(api->state, view_status, reply);
    else if (parse_digits(argument, INT64_MAX, &generation) < 0)
        reply_error(reply, 400, "applied is the number of a change: a generation of Status");
    else
        api_changes_await(api->changes, request, generation, reply);
}

static void reply_changes(const struct api *api, const struct http_request *request,
                          struct http_reply *reply)
{
    api_changes_stream(api->changes, request, reply);
}

static void reply_failed(struct http_reply *reply, int error, const struct faults *faults)
{
    switch (error) {
    case -EBADMSG:
        reply_faults(reply, 400, faults);
        break;
    case -EALREADY:
        reply_error(reply, 409, "it is past that already; undo it first");
        break;
    default:
        if (faults->list.count)
            reply_faults(reply, 500, faults);
        else
            reply_error(reply, 500, strerror(-error));
        break;
    }
}

static void run_action(const struct api *api, const struct api_action *action,
                       const struct http_request *request, struct http_reply *reply)
{
    CLEANUP(document_freep) struct document *body = NULL;
    AUTOFAULTS struct faults faults = { 0 };

    int r = body_parse(request, &body, &faults);
    if (r == 0)
        r = action->run(&(const struct api_call){ request, body, &faults }, api->action_context);
    if (r < 0)
        reply_failed(reply, r, &faults);
    else
        reply_view(api->state, view_status, reply);
}

/* The path is in the table below, but the program may not have handed in what it asks for. */
static void reply_action(const struct api *api, const struct http_request *request,
                         struct http_reply *reply)
{
    for (size_t i = 0; i < api->action_count; i++) {
        if (strcmp(request->path, api->actions[i].path) == 0) {
            run_action(api, &api->actions[i], request, reply);
            return;
        }
    }
    reply_error(reply, 404, "no such path");
}

/* A GC names every sandbox of the node. */
enum { ACTION_BODY_MAX = 4096, GC_BODY_MAX = 1 << 20 };

/* Either `view`, a document without arguments, or `reply`. */
static const struct api_route {
    struct route_head head;
    bool needs_nat; /* without it there is nothing that could be told */
    view_function view;
    void (*reply)(const struct api *api, const struct http_request *request,
                  struct http_reply *reply);
} routes[] = {
    { { "GET", "/v1/status", RIGHT_READ }, false, NULL, reply_status },
    { { "GET", "/v1/changes", RIGHT_READ }, false, NULL, reply_changes },
    { { "GET", "/v1/routes", RIGHT_READ }, false, view_routes, NULL },
    { { "GET", "/v1/blocks", RIGHT_READ }, false, view_blocks, NULL },
    { { "GET", "/v1/services", RIGHT_READ }, false, view_services, NULL },
    { { "GET", "/v1/peers", RIGHT_READ }, false, view_peers, NULL },
    { { "GET", "/v1/faults", RIGHT_READ }, false, NULL, reply_faults_by_code },
    { { "GET", "/v1/config", RIGHT_READ }, false, view_config, NULL },
    { { "GET", "/v1/diff", RIGHT_READ }, false, view_diff, NULL },
    { { "GET", "/v1/explain", RIGHT_READ }, false, NULL, reply_explain },
    { { "GET", "/v1/trace", RIGHT_READ }, false, NULL, reply_trace },
    { { "GET", "/v1/egress", RIGHT_READ }, false, NULL, reply_egress },
    { { "GET", "/v1/pools", RIGHT_READ }, false, NULL, reply_pools },
    { { "GET", "/v1/pods", RIGHT_READ }, false, NULL, reply_pods },
    { { "GET", "/v1/addresses", RIGHT_READ }, false, NULL, reply_addresses },
    { { "GET", "/v1/backends", RIGHT_READ }, true, NULL, reply_backends },
    { { "GET", "/v1/flows", RIGHT_READ }, true, NULL, reply_flows },
    { { "GET", "/v1/maps", RIGHT_READ }, true, NULL, reply_maps },
    { { "GET", "/v1/verify", RIGHT_READ }, true, NULL, reply_verify },
    { { "POST", "/v1/drain", RIGHT_ROOT, ACTION_BODY_MAX }, false, NULL, reply_action },
    { { "POST", "/v1/withdraw", RIGHT_ROOT, ACTION_BODY_MAX }, false, NULL, reply_action },
    { { "POST", "/v1/undrain", RIGHT_ROOT, ACTION_BODY_MAX }, false, NULL, reply_action },
    { { "POST", "/v1/pods/gc", RIGHT_ROOT, GC_BODY_MAX }, false, NULL, reply_pod },
    { { "POST", "/v1/pods/", RIGHT_ROOT, ACTION_BODY_MAX }, false, NULL, reply_pod },
    { { "GET", "/v1/pods/", RIGHT_ROOT }, false, NULL, reply_pod },
    { { "DELETE", "/v1/pods/", RIGHT_ROOT }, false, NULL, reply_pod },
};

static const struct router router = ROUTER(routes);

size_t api_admit(const struct http_request *request, struct http_reply *reply, void *context)
{
    (void)context;
    return router_admit(&router, request, reply);
}

void api_handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    const struct api *api = context;
    bool refused;
    const struct api_route *route = router_find(&router, request, reply, &refused);

    if (!route)
        api_handle_public(request, reply, (void *)api->state);
    else if (refused)
        return;
    else if (route->needs_nat && (!api->state->nat || !api->state->live))
        reply_error(reply, 503, "service NAT is off (services.enabled), or could not start");
    else if (route->view)
        reply_view(api->state, route->view, reply);
    else
        route->reply(api, request, reply);
}
