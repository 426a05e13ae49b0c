/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of CAs, as CONSUL_CAPATH names one. For client/consul/consul.c. */
#pragma once

#include "base/text.h"

/* Adds what its files have, in order of name: PEM, as many certificates in each as there are.
 * Folders in it, and files whose name begins with a dot, are left out. Returns 0, -ENOENT where
 * there is no file, -EFBIG, -ENOMEM, or what open() and read() say. */
int consul_ca_read(const char *folder, struct text *out);
