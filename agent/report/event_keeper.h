/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates Events of Services in the API: each cause once, however often it is planned, by create
 * only. An Event that exists already, from another node or from this one before a restart, is as
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
    struct kube_config *config; /* ownership is taken, even on failure */
    const char *node;           /* the reporting instance; copied */
    struct status *status;      /* ->writes is kept up to date; ->faults: "kubernetes", "events" */
    void (*changed)(void *context); /* ->writes has changed; may be NULL */
    void *context;
};

/* Returns 0 or -errno. */
int event_keeper_new(const struct event_keeper_options *options, struct event_keeper **ret_keeper);
/*
 * Continues with another kubeconfig, of which ownership is taken; written Events stay noted. 0 or
 * -errno.
 */
int event_keeper_reconnect(struct event_keeper *keeper, struct kube_config *config);

void event_keeper_free(struct event_keeper *keeper);
DEFINE_CLEANUP(struct event_keeper *, event_keeper_free);

/* All Events that are wanted now; copied. Without memory a part is left for the next call. */
void event_keeper_want(struct event_keeper *keeper, const service_event_list *wanted);
