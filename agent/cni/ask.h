/* SPDX-License-Identifier: Apache-2.0 */
/* One question to agentd over its unix socket. */
#pragma once

#include <stdint.h>

struct question {
    const char *method;   /* "GET", "POST", "DELETE" */
    const char *path;     /* as in a URL */
    const char *document; /* JSON of a POST, or NULL */
    int64_t timeout_ms;   /* of all of it */
};

/*
 * Asks, and waits for the answer. Returns 0 with the HTTP status and the body, which the caller
 * frees; -ECONNREFUSED or -ENOENT if nobody is at the socket, -EACCES without permission,
 * -ETIMEDOUT, -ECONNRESET if agentd hung up twice, -EPROTO if what came is no answer, -EFBIG above
 * 4 MiB, -ENOMEM, or -errno.
 */
int ask(const char *socket, const struct question *question, long *ret_status, char **ret_body);
