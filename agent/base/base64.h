/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4) as Kubernetes writes binary fields. */
#pragma once

#include <stddef.h>

#include "base/text.h"

/*
 * Decodes a string, padding included; line breaks between characters are passed over. The caller
 * frees the bytes, behind which a NUL stands. Returns 0, -EINVAL or -ENOMEM.
 */
int base64_decode(const char *string, char **ret_bytes, size_t *ret_size);

/* Adds the bytes in base64, with padding. */
void base64_add(struct text *out, const char *bytes, size_t count);
