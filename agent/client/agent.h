/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests to the agent over its unix socket (libcurl, blocking: for agentctl). */
#pragma once

#include <stdint.h>

/*
 * Sends a GET for a path with its query, encoded as in a URL ("/v1/status"). Returns 0 with the
 * HTTP status and the body, which the caller frees; -ECONNREFUSED or -ENOENT if no process listens
 * on the socket, -EACCES without permission, -ENAMETOOLONG, -ETIMEDOUT, -EPROTO (also if the agent
 * closes the connection twice), -EFBIG (a body above 256 MiB), -ENOMEM.
 */
int agent_get(const char *socket, const char *path, int64_t timeout_ms, long *ret_status,
              char **ret_body);

/* Sends a POST to a path, with a JSON document or NULL; otherwise as agent_get(). */
int agent_post(const char *socket, const char *path, const char *document, int64_t timeout_ms,
               long *ret_status, char **ret_body);
