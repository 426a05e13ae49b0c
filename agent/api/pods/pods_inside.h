/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of agent-cni's requests share. Internal to api/pods*.c. */
#pragma once

#include "api/pods/pods.h"
#include "base/fault.h"
#include "format/doc.h"

void pods_api_gc(const struct pods_api_options *options, const struct http_request *request,
                 struct http_reply *reply);

/* ---- pods_body.c ---- */

/* "/v1/pods/CONTAINER/INTERFACE", and perhaps "/wired" behind. False: neither. */
bool pods_read_path(const char *path, struct pod_interface *ret_pod_interface, bool *ret_wired);

/* Into a request that has its container and interface. Texts are the body's. 0, -EBADMSG with
 * faults, or -ENOMEM. */
int pods_read_request(const struct document *body, struct pod_request *wanted,
                      struct faults *faults);

/* CNI's name of the network; "" where it is absent. Returns as above. */
int pods_read_network(const struct document *body, const char **ret_network, struct faults *faults);

/* The node's end by its number; 0: not told. Returns as above. */
int pods_read_index(const struct http_request *request, uint32_t *ret_ifindex,
                    struct faults *faults);
