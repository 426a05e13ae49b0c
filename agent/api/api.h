/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's API: what it knows, as JSON documents under /v1/ and as Prometheus text.
 * It reads borrowed state and changes nothing itself: what an operator asks for by POST is a table
 * of functions that the program hands in.
 *
 *   GET /v1/status /v1/routes /v1/blocks /v1/services /v1/faults /v1/diff
 *       /v1/peers
 *   GET /v1/status?applied=N                  answered when change N is applied
 *   GET /v1/changes                           a stream
 *   GET /v1/explain?address=A[&port=P[&protocol=TCP]]
 *   GET /v1/backends[?service=NAMESPACE/NAME] /v1/flows[?service=S][&limit=N]
 *       /v1/maps /v1/verify                   where NAT is on
 *   GET /v1/trace?source=A&destination=A:PORT&protocol=P&in=I
 *   GET /metrics /livez /readyz
 *   POST, root only: the actions, for example /v1/drain; they answer with the status document.
 *       Arguments are the members of a JSON object in the body
 */
#pragma once

#include "api/changes.h"
#include "api/nat/trace.h"
#include "api/pods/pods.h"
#include "api/view.h"
#include "base/fault.h"
#include "format/doc.h"
#include "loop/http.h"

/* What an action is called with. */
struct api_call {
    const struct http_request *request;
    const struct document *body; /* a map; NULL: the request had no body */
    struct faults *faults;       /* what is wrong with the body (api/body.h) */
};

struct api_action {
    const char *path; /* "/v1/drain" */
    /*
     * Returns 0; -EBADMSG after adding a fault of the body (400); -EALREADY (409); another -errno
     * (500), which the reply puts in words if there is no fault that says more.
     */
    int (*run)(const struct api_call *call, void *context);
};

struct api {
    const struct api_state *state;
    const struct api_action *actions;
    size_t action_count;
    struct api_changes *changes;
    struct pods_api *pods; /* who answers below /v1/pods/; NULL: nobody */
    trace_function trace;
    void *action_context; /* of the trace, too */
};

/* The unix socket's http_admission and http_handler; their context is a `const struct api *`. */
size_t api_admit(const struct http_request *request, struct http_reply *reply, void *context);
void api_handle(const struct http_request *request, struct http_reply *reply, void *context);

/* The same for TCP, with a `const struct api_state *`: /metrics, /livez and /readyz only. */
void api_handle_public(const struct http_request *request, struct http_reply *reply, void *context);
