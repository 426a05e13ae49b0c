/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims as Leases (coordination.k8s.io/v1) of one namespace. Each has the label LEASE_LABEL, so
 * that the watch selects only ours.
 */
#pragma once

#include <systemd/sd-event.h>

#include "client/kube/kubeconfig.h"
#include "segment/claim_store.h"

/*
 * Takes ownership of `config`, even on failure; `namespace` is copied. The caller owns the store
 * and frees it by the store's own operation. Returns 0 or -errno.
 */
int lease_store_new(sd_event *event, struct kube_config *config, const char *namespace,
                    struct claim_store *ret_store);
