/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims as keys of etcd v3: a store that every node sees without Kubernetes. A key is the prefix
 * and the claim's key; its value is the record, in the format of a Lease.
 *
 * Each key is attached to an etcd lease of the agent that wrote it last, and is deleted ten minutes
 * after that agent's last keep-alive: a claim binds for seconds, and keys of removed nodes do not
 * accumulate.
 */
#pragma once

#include <systemd/sd-event.h>

#include "client/etcd/etcd.h"
#include "segment/claim_store.h"

struct etcd_store_options {
    struct etcd_where where;
    const char *prefix; /* "/fingerpost/addresses/" */
};

/* Copies everything in the options. The caller owns the store and frees it by the store's own
 * operation. Returns 0 or -errno. */
int etcd_store_new(sd_event *event, const struct etcd_store_options *options,
                   struct claim_store *ret_store);
