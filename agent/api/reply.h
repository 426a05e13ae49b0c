/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as the API makes them: documents, and errors as JSON. */
#pragma once

#include "base/fault.h"
#include "base/text.h"
#include "loop/http.h"

/* Hands the text over; without memory the reply is a bare 500. `content_type` is static. */
void reply_text(struct http_reply *reply, unsigned status, const char *content_type,
                struct text *body);

/* A JSON document, which gets its line's end here; otherwise the same. */
void reply_document(struct http_reply *reply, unsigned status, struct text *document);

/* {"error": "..."} */
void reply_error(struct http_reply *reply, unsigned status, const char *message);

/* The first fault, as of a request's body: {"error": "body:1:12: ...", "place": "body:1:12"} */
void reply_faults(struct http_reply *reply, unsigned status, const struct faults *faults);
