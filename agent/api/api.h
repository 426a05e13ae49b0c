/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's API: what it knows, as JSON documents under /v1/ and as Prometheus text.
 * It reads borrowed state and changes nothing.
 *
 *   GET /v1/status /v1/routes /v1/blocks /v1/services /v1/faults /v1/diff
 *   GET /v1/explain?address=A     /metrics /livez /readyz
 */
#pragma once

#include "api/view.h"
#include "loop/http.h"

/* An http_handler whose context is a `const struct api_state *`. The unix socket's. */
void api_handle(const struct http_request *request, struct http_reply *reply, void *context);

/* The same for TCP: /metrics, /livez and /readyz only. */
void api_handle_public(const struct http_request *request, struct http_reply *reply, void *context);
