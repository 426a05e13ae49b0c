/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services and checks of the Consul agent, parsed from its answers. For report/consul_keeper.c.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/fault.h"
#include "plan/export/agent_services_diff.h"

/* The keys of our services' Meta, and the tag of kube-service-exporter. */
#define CONSUL_META_CLUSTER "fingerpost-cluster"
#define CONSUL_META_SERVICE "fingerpost-service"
#define CONSUL_META_CHECKS  "fingerpost-checks"
#define CONSUL_EXPORTER_TAG "kube-service-exporter"

/* Empty: all 0. */
struct consul_there {
    struct arena *arena; /* of its texts */
    agent_services_there list;
    /* The first maintenance mode of the node ("") or of a service of ours, and its reason. */
    const char *shut, *reason; /* NULL: no maintenance mode */
};

/* Replaces all services. Returns 0, -EBADMSG if the answer is no list of services, or -ENOMEM. */
int consul_there_read(struct consul_there *there, const char *cluster, const char *body,
                      size_t size);

/* Adds our checks to them. Returns likewise. */
int consul_there_add_checks(struct consul_there *there, const char *body, size_t size);

/*
 * Some of the requested checks are hidden from this token. It may read all services, and so their
 * checks: what is hidden is the node's maintenance mode.
 */
void consul_there_hide(struct consul_there *there);

/* Adds a fault for each maintenance mode; `address`: the Consul agent. */
void consul_there_tell(const struct consul_there *there, const char *address,
                       struct faults *faults);

void consul_there_done(struct consul_there *there);
