/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP endpoints that load balancers, the autoscaler and kubelets query on a service proxy:
 * /healthz and /livez on services.healthz, /proxyMode on services.proxyModeListen where that is
 * set, and the health check node ports of Services. Replies are identical to kube-proxy's, byte for
 * byte.
 *
 *   /livez    200 unless a family is late: a change queued 60 s ago is not applied yet
 *   /healthz  the same, and 503 if this node is about to be deleted; cordoning does not count
 *
 * With NAT off none of these is served, and the functions here do nothing.
 */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "plan/nat/nat.h"
#include "plan/nat/nat_health.h"
#include "status/status.h"

struct health;

struct health_options {
    sd_event *event;
    const struct config *config; /* only read during this call */
    struct status *status;       /* ->health counts replies; ->faults: "services" */
};

/* An address that can't be bound is a fault and is retried. Returns 0 or -errno. */
int health_new(const struct health_options *options, struct health **ret_health);
void health_free(struct health *health);
DEFINE_CLEANUP(struct health *, health_free);

/*
 * Called on a reload: NAT may be turned on or off, and services.healthz may change. After NAT is
 * turned on, rows and node are unknown until they are set. Returns 0 or -errno.
 */
int health_configure(struct health *health, const struct config *config);

/*
 * Takes this node's object, or its absence, and the configuration: whether this node is about to be
 * deleted, and on which addresses ports are served. Called after a change of any of these. Returns
 * 0 or -ENOMEM.
 */
int health_set_node(struct health *health, const struct node_facts *facts);

/* Take the rows: all of them (struct nat_row *, sorted), or one that changed. Return 0 or
 * -ENOMEM. */
int health_set_rows(struct health *health, const struct sorted *rows);
int health_set_row(struct health *health, const struct nat_row *row);
void health_drop_row(struct health *health, const char *namespace, const char *name);

/* Called after a pass that used any of the above: opens and closes ports, and raises faults. */
void health_sync(struct health *health);

/*
 * health_queued(): a change of a family (IP_V4, IP_V6) is queued. health_applied(): all queued
 * changes are applied. A family of which nothing was ever applied is starting, and not late.
 */
void health_queued(struct health *health, uint8_t family);
void health_applied(struct health *health, uint8_t family);

/* Sets whether the datapath of a family works as planned; false makes all ports unhealthy at
 * once. */
void health_set_works(struct health *health, uint8_t family, bool works);

/* Calls for each health port of a Service that is already in use on this node. */
void health_each_taken_port(const struct health *health,
                            void (*each)(void *context, const struct nat_health_port *port),
                            void *context);

/* As /livez has it. */
bool health_is_healthy(const struct health *health);
