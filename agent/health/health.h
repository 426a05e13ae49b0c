/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What load balancers, the autoscaler and kubelets ask of a service proxy: /healthz and /livez on
 * services.healthz, /proxyMode on services.proxyModeListen where that is set, and the health ports
 * of Services. Answers are kube-proxy's, to the byte.
 *
 *   /livez    200 unless a family is late: something was queued 60 s ago and is not applied yet
 *   /healthz  the same, and 503 if this node is about to be deleted; cordoning does not count
 *
 * With NAT off there is nothing of it, and the calls here do nothing.
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
    const struct config *config; /* read by this call only */
    struct status *status;       /* ->health counts answers; ->faults: "services" */
};

/* An address that can't be had is a fault, and tried again. Returns 0 or -errno. */
int health_new(const struct health_options *options, struct health **ret_health);
void health_free(struct health *health);
DEFINE_CLEANUP(struct health *, health_free);

/*
 * A reload: NAT may go on or off, services.healthz elsewhere. If it went on, nothing is known of
 * rows and node. Returns 0 or -errno.
 */
int health_configure(struct health *health, const struct config *config);

/*
 * This node's object, or its absence, and what is configured: whether this node is about to go, and
 * where ports are served. After a change of any of these. Returns 0 or -ENOMEM.
 */
int health_set_node(struct health *health, const struct node_facts *facts);

/* The rows: all of them (struct nat_row *, sorted), or one that changed. Return 0 or -ENOMEM. */
int health_set_rows(struct health *health, const struct sorted *rows);
int health_set_row(struct health *health, const struct nat_row *row);
void health_drop_row(struct health *health, const char *namespace, const char *name);

/* After a pass over some of the above: ports are opened and closed, faults told. */
void health_sync(struct health *health);

/*
 * A change that touches a family (IP_V4, IP_V6) waits to be applied; all that waited is. A family
 * of which nothing was ever applied is starting, and not late.
 */
void health_queued(struct health *health, uint8_t family);
void health_applied(struct health *health, uint8_t family);

/* Whether packets of a family get what the plan says: false makes all unhealthy at once. */
void health_set_works(struct health *health, uint8_t family, bool works);

/* Each health port of a Service that somebody else on this node has. */
void health_each_taken_port(const struct health *health,
                            void (*each)(void *context, const struct nat_health_port *port),
                            void *context);

/* As /livez has it. */
bool health_is_healthy(const struct health *health);
