/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request: one JSON object, of which every wrong place can be named. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"
#include "format/doc.h"
#include "loop/http.h"

/* Whether the headers say that the body is JSON (application/json, with or without a charset). */
bool body_is_json(const struct http_request *request);

/*
 * Parses the body. Returns 0 with the document, which the caller frees and which is NULL if the
 * request had no body; -EBADMSG with a fault at "body:LINE:COLUMN"; -ENOMEM. Depth, size and number
 * of values are bounded as for answers (format/reader.h). The document borrows from the request.
 */
int body_parse(const struct http_request *request, struct document **ret_document,
               struct faults *faults);

/* A fault for each member that is none of `names`, which ends with NULL. 0 or -EBADMSG. */
int body_check_members(const struct document *document, const char *const *names,
                       struct faults *faults);

/* A JSON string: no number, and no word of JSON's. Returns as doc_string(). */
int body_string(const struct document *document, const struct doc *node, const char **ret,
                struct faults *faults);

/*
 * A text of one line, at most `max` bytes: longer ones and control characters are faults.
 * Returns as doc_string().
 */
int body_line(const struct document *document, const char *member, size_t max, const char **ret,
              struct faults *faults);

/* "30s". Returns as doc_string(). */
int body_duration(const struct document *document, const char *member, int64_t *ret_ms,
                  struct faults *faults);
