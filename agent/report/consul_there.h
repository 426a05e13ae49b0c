/* SPDX-License-Identifier: Apache-2.0 */
/* What Consul's agent has, out of its answers. For report/consul_keeper.c. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/fault.h"
#include "plan/export/agent_services_diff.h"

/* What a service of ours says in its Meta, and the tag of kube-service-exporter. */
#define CONSUL_META_CLUSTER "fingerpost-cluster"
#define CONSUL_META_SERVICE "fingerpost-service"
#define CONSUL_META_CHECKS  "fingerpost-checks"
#define CONSUL_EXPORTER_TAG "kube-service-exporter"

/* Empty: all 0. */
struct consul_there {
    struct arena *arena; /* of its texts */
    agent_services_there list;
    /* The first maintenance that shuts the node ("") or a service of ours, and its reason. */
    const char *shut, *reason; /* NULL: nothing is shut */
};

/* All services, in the place of what was known. Returns 0, -EBADMSG for what is no list of
 * services, or -ENOMEM. */
int consul_there_read(struct consul_there *there, const char *cluster, const char *body,
                      size_t size);

/* Our checks of them. Returns likewise. */
int consul_there_add_checks(struct consul_there *there, const char *body, size_t size);

/*
 * Some of the checks that were asked for are kept from this token. It may read all services, and so
 * their checks: what is left is the node's maintenance.
 */
void consul_there_hide(struct consul_there *there);

/* Adds a fault for what somebody has put into maintenance; `address`: Consul's agent. */
void consul_there_tell(const struct consul_there *there, const char *address,
                       struct faults *faults);

void consul_there_done(struct consul_there *there);
