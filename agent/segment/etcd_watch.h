/* SPDX-License-Identifier: Apache-2.0 */
/* Hears of the keys of claims as they come, change and go. Internal to segment/. */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/etcd/etcd.h"
#include "client/etcd/etcd_kv.h"
#include "segment/claim_store.h"

struct etcd_watch;

/* Lists, then watches, for ever. `listener` is copied, `prefix` borrowed. Returns 0 or -errno. */
int etcd_watch_new(sd_event *event, struct etcd_client *client, const char *prefix,
                   const struct claim_listener *listener, struct etcd_watch **ret_watch);

/* Since when every key was seen to come and go; INT64_MAX: it is not watching. CLOCK_BOOTTIME. */
int64_t etcd_watch_since_ms(const struct etcd_watch *watch);

void etcd_watch_free(struct etcd_watch *watch);
DEFINE_CLEANUP(struct etcd_watch *, etcd_watch_free);

/* The value of a key that is such a record, owned; NULL: no memory. */
char *etcd_record_value(const struct lease_record *record, const char *key);

/* The record that a key's value is. Returns NULL, or what is wrong with it, static. */
const char *etcd_entry_record(const struct etcd_entry *entry, struct lease_record *ret_record,
                              char ret_version[static LEASE_VERSION_MAX]);
