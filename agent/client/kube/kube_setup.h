/* SPDX-License-Identifier: Apache-2.0 */
/* From a kubeconfig to the options of one request; see kube_setup.c. Internal to client/. */
#pragma once

#include <curl/curl.h>

#include "client/kube/kube.h"
#include "client/kube/kubeconfig.h"

/* What the options of an easy handle refer to; it must outlive the handle. */
struct kube_lists {
    struct curl_slist *headers, *connect_to;
};

/*
 * Sets all options but callbacks: server, request, credentials and TLS. Reads the files that the
 * configuration names. Returns 0, or -errno after writing the reason to `error`; `lists` is filled
 * in any case.
 */
int kube_setup(CURL *easy, const struct kube_config *config, const struct kube_call *call,
               struct kube_lists *lists, char error[static KUBE_ERROR_LEN]);

void kube_lists_done(struct kube_lists *lists);
