/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the services of the Consul agent on this node as planned: reads them, writes the
 * difference, and reads them again. For agentd/part_consul.c.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/consul/consul.h"
#include "plan/export/agent_services.h"
#include "status/status.h"

struct consul_keeper;

struct consul_keeper_options {
    sd_event *event;
    struct consul_where where; /* its strings outlive the keeper */
    const struct config *config;
    struct status *status;
    /* Makes the current plan. Returns 0 or -ENOMEM. */
    int (*plan)(void *context, struct agent_services *ret_services);
    void (*changed)(void *context); /* the status has changed */
    void *context;
};

/* Returns 0 or -errno. */
int consul_keeper_new(const struct consul_keeper_options *options,
                      struct consul_keeper **ret_keeper);

/* Something that the plan depends on may have changed. */
void consul_keeper_invalidate(struct consul_keeper *keeper);

/* Registered services stay registered. */
void consul_keeper_free(struct consul_keeper *keeper);
DEFINE_CLEANUP(struct consul_keeper *, consul_keeper_free);
