/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims as Leases (coordination.k8s.io/v1) of one namespace, each with the label LEASE_LABEL, by
 * which those of ours are watched and others are not.
 */
#pragma once

#include <systemd/sd-event.h>

#include "client/kube/kubeconfig.h"
#include "segment/claim_store.h"

/*
 * `config` is taken over, even on failure; `namespace` is copied. The store is the caller's, who
 * ends it by its own operation. Returns 0 or -errno.
 */
int lease_store_new(sd_event *event, struct kube_config *config, const char *namespace,
                    struct claim_store *ret_store);
