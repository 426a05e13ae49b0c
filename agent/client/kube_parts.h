/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the API's client share. Internal to client/. */
#pragma once

#include <stdbool.h>

#include <curl/curl.h>

#include "client/kube.h"
#include "client/kubeconfig.h"

/* What the options of an easy handle refer to, and that must outlive it. */
struct kube_lists {
    struct curl_slist *headers, *connect_to;
};

/*
 * Sets who is asked, how, and by whom: all but callbacks. Reads the files that the configuration
 * names. Returns 0, or -errno after writing the reason to `error`; `lists` is filled in any case.
 */
int kube_setup(CURL *easy, const struct kube_config *config, const char *path,
               struct kube_lists *lists, char error[static KUBE_ERROR_LEN]);

void kube_lists_done(struct kube_lists *lists);

/*
 * Writes why a request failed, of which libcurl says `error`, naming the file or value that is at
 * fault. Returns what to do about it, or NULL.
 */
const char *kube_failure_read(CURLcode code, const char *error, const struct kube_config *config,
                              char why[static KUBE_ERROR_LEN]);

/*
 * Checks what was read from a kubeconfig, and takes slashes off the end of the server. False: it
 * can't be used, and why was added to `errors`, with this place.
 */
bool kube_config_check(struct kube_config *config, const char *place, struct faults *errors);
