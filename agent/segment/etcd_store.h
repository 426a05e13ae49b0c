/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims as keys of etcd v3: without Kubernetes, every node sees the same records by it. A key is
 * the prefix and the claim's; its value is the record, written as a Lease is.
 *
 * Each key ends with an etcd lease of the agent that wrote it last, ten minutes after that agent
 * was heard last: a claim binds for seconds, and what is left of nodes that are gone does not pile
 * up.
 */
#pragma once

#include <systemd/sd-event.h>

#include "client/etcd/etcd.h"
#include "segment/claim_store.h"

struct etcd_store_options {
    struct etcd_where where;
    const char *prefix; /* "/fingerpost/addresses/" */
};

/* All that the options name is copied. The store is the caller's, who ends it by its own operation.
 * Returns 0 or -errno. */
int etcd_store_new(sd_event *event, const struct etcd_store_options *options,
                   struct claim_store *ret_store);
