/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/trace: what happens to one packet. This room reads the question and prints the answer;
 * the program hands in the function that finds it.
 */
#pragma once

#include "api/view.h"
#include "base/text.h"
#include "loop/http.h"
#include "plan/nat/trace.h"

/*
 * Reads the question from a request, from which `in` is borrowed. Returns 0, or -EINVAL with
 * `*ret_error` saying what is wrong with which argument.
 */
int trace_question_read(const struct http_request *request, struct trace_question *ret_question,
                        const char **ret_error);

/* The document Trace. */
void view_trace(const struct api_state *state, const struct trace_question *question,
                const struct trace *trace, struct text *out);
