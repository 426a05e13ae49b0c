/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the Leases of claims. Internal to segment/. */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/kube/kube.h"
#include "segment/claim_store.h"

struct lease_watch;

/* Lists, then watches, without end. `listener` is copied. Returns 0 or -errno. */
int lease_watch_new(sd_event *event, struct kube_client *client, const char *namespace,
                    const struct claim_listener *listener, struct lease_watch **ret_watch);

/*
 * Since when all Leases have been watched without a gap; INT64_MAX: no watch is established.
 * CLOCK_BOOTTIME.
 */
int64_t lease_watch_since_ms(const struct lease_watch *watch);

void lease_watch_free(struct lease_watch *watch);
DEFINE_CLEANUP(struct lease_watch *, lease_watch_free);
