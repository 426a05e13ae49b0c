/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of CAs, as CONSUL_CAPATH names one. For client/consul/consul.c. */
#pragma once

#include "base/text.h"

/*
 * Adds the content of its files, in order of name: PEM, any number of certificates in each.
 * Subfolders, and files whose name begins with a dot, are skipped. Returns 0, -ENOENT where there
 * is no file, -EFBIG, -ENOMEM, or the error of open() or read().
 */
int consul_ca_read(const char *folder, struct text *out);
