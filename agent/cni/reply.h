/* SPDX-License-Identifier: Apache-2.0 */
/* What comes back over agentd's socket: HTTP that ends with the connection. */
#pragma once

#include <stddef.h>

/*
 * Takes a whole reply apart: NUL-terminated bytes, of which *ret_body is a part. Returns 0 or
 * -EPROTO: it is no HTTP, is cut short, or comes in chunks, which an HTTP/1.0 client is not sent.
 */
int reply_parse(const char *bytes, size_t size, long *ret_status, const char **ret_body);
