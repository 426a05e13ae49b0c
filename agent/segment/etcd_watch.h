/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the keys of claims. Internal to segment/. */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/etcd/etcd.h"
#include "client/etcd/etcd_kv.h"
#include "segment/claim_store.h"

struct etcd_watch;

/*
 * Lists, then watches, without end. `listener` is copied, `prefix` borrowed. Returns 0 or -errno.
 */
int etcd_watch_new(sd_event *event, struct etcd_client *client, const char *prefix,
                   const struct claim_listener *listener, struct etcd_watch **ret_watch);

/*
 * Since when all keys have been watched without a gap; INT64_MAX: no watch is established.
 * CLOCK_BOOTTIME.
 */
int64_t etcd_watch_since_ms(const struct etcd_watch *watch);

void etcd_watch_free(struct etcd_watch *watch);
DEFINE_CLEANUP(struct etcd_watch *, etcd_watch_free);

/* A record as the value of a key; the caller frees it. NULL: no memory. */
char *etcd_record_value(const struct lease_record *record, const char *key);

/* Parses a key's value as a record. Returns NULL, or what is wrong with it, static. */
const char *etcd_entry_record(const struct etcd_entry *entry, struct lease_record *ret_record,
                              char ret_version[static LEASE_VERSION_MAX]);
