/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the agent over its unix socket (libcurl, blocking: for agentctl). */
#pragma once

#include <stdint.h>

/*
 * GETs a path with its query, encoded as in a URL ("/v1/status"). Returns 0 with the HTTP status
 * and the body, which the caller frees; -ECONNREFUSED or -ENOENT if nobody answers at the socket,
 * -EACCES without permission, -ENAMETOOLONG, -ETIMEDOUT, -EPROTO (also if it hangs up twice),
 * -EFBIG (a body above 256 MiB), -ENOMEM.
 */
int agent_get(const char *socket, const char *path, int64_t timeout_ms, long *ret_status,
              char **ret_body);

/* POSTs to a path, with a JSON document or NULL; else as agent_get(). */
int agent_post(const char *socket, const char *path, const char *document, int64_t timeout_ms,
               long *ret_status, char **ret_body);
