/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for failed requests. Internal to client/. */
#pragma once

#include <curl/curl.h>

#include "client/kube/kube.h"
#include "client/kube/kubeconfig.h"

/*
 * Writes why a request failed, and which file or value is at fault. `error` is libcurl's message,
 * `os_error` the system's errno (0: none). Returns what to do about it, or NULL.
 */
const char *kube_failure_read(CURLcode code, long os_error, const char *error,
                              const struct kube_config *config, char why[static KUBE_ERROR_LEN]);
