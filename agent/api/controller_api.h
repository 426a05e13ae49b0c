/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's API. It reads borrowed state and changes nothing.
 *
 *   GET /v1/controller /v1/faults        on its socket
 *       /v1/pools /v1/address-blocks /v1/block-requests /v1/egress-workloads
 *   GET /metrics /livez /readyz          there, and by TCP
 *   GET /healthz                         by TCP: as /livez
 */
#pragma once

#include "api/view_controller.h"
#include "loop/http.h"

/* http_handlers; their context is a `const struct controller_state *`. */
void controller_api_handle(const struct http_request *request, struct http_reply *reply,
                           void *context);
void controller_api_handle_public(const struct http_request *request, struct http_reply *reply,
                                  void *context);
