/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When certificates are valid, as RFC 5280 writes it. Nothing else of them is read, and nothing is
 * proved: that is the TLS library's, which says so only once somebody connects.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct certificate_time {
    int64_t from_ms, until_ms; /* wall clock, both included */
};

/*
 * Reads the certificate that begins first in a text with PEM blocks. Returns the text behind it, or
 * NULL: there is no other certificate that can be read. A text with several is read by calling
 * again with what was returned.
 */
const char *certificate_next(const char *pem, struct certificate_time *ret_time);
