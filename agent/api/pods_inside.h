/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of agent-cni's requests share. Internal to api/pods*.c. */
#pragma once

#include "api/pods.h"

void pods_api_gc(const struct pods_api_options *options, const struct http_request *request,
                 struct http_reply *reply);
