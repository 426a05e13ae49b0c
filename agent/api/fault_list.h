/* SPDX-License-Identifier: Apache-2.0 */
/* `GET /v1/faults`, `GET /v1/faults?code=CODE`. */
#pragma once

#include "loop/http.h"
#include "status/fault_book.h"

/* Replies with the document FaultList, of one code if the request names it; a code that is not in
 * the catalogue is 400. */
void reply_fault_list(const struct fault_book *book, const struct http_request *request,
                      struct http_reply *reply);
