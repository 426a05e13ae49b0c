/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Events of Services to the API: each cause once, however often it is planned, by create
 * only. That somebody has written it already, as another node or this one before a restart, is as
 * good.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/kube/kubeconfig.h"
#include "plan/nat/service_event.h"
#include "status/status.h"

struct event_keeper;

struct event_keeper_options {
    sd_event *event;
    struct kube_config *config; /* taken over, even on failure */
    const char *node;           /* who says so; copied */
    struct status *status;      /* ->writes is kept up to date; ->faults: "kubernetes", "events" */
    void (*changed)(void *context); /* ->writes is another; may be NULL */
    void *context;
};

/* Returns 0 or -errno. */
int event_keeper_new(const struct event_keeper_options *options, struct event_keeper **ret_keeper);
/* Goes on by another kubeconfig, which is taken over; what was written stays so. 0 or -errno. */
int event_keeper_reconnect(struct event_keeper *keeper, struct kube_config *config);

void event_keeper_free(struct event_keeper *keeper);
DEFINE_CLEANUP(struct event_keeper *, event_keeper_free);

/* All that is wanted now; copied. Without memory some of it is left for the next time. */
void event_keeper_want(struct event_keeper *keeper, const service_event_list *wanted);
