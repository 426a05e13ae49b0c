/* SPDX-License-Identifier: Apache-2.0 */
/* Failed requests in words. Internal to client/. */
#pragma once

#include <curl/curl.h>

#include "client/kube/kube.h"
#include "client/kube/kubeconfig.h"

/*
 * Writes why a request failed, of which libcurl says `error` and the system `os_error` (0:
 * nothing), naming the file or value that is at fault. Returns what to do about it, or NULL.
 */
const char *kube_failure_read(CURLcode code, long os_error, const char *error,
                              const struct kube_config *config, char why[static KUBE_ERROR_LEN]);
