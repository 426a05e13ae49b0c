/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health check node ports of Services, byte for byte as kube-proxy serves them.
 *
 *   any path, any method: 200 if endpoints are ready on this node and the proxy is healthy, else
 * 503 { "service": { "namespace", "name" }, "localEndpoints": N, "serviceProxyHealthy": B }
 *
 * Wanted ports are set first, and opened by health_ports_sync(); counts take effect at once. A port
 * that can't be bound is retried with increasing delay.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/net/ip.h"
#include "plan/nat/nat_health.h"

struct health_ports;

struct health_ports_options {
    sd_event *event;
    bool (*healthy)(void *context); /* whether the proxy is healthy; called for each reply */
    void (*tried)(void *context);   /* called after a retry of ports: the faults may have changed */
    void *context;
    int64_t retry_initial_ms, retry_max_ms;
};

int health_ports_new(const struct health_ports_options *options, struct health_ports **ret_ports);
void health_ports_free(struct health_ports *ports);
DEFINE_CLEANUP(struct health_ports *, health_ports_free);

/* Sets the addresses of all ports, from nat_health_addresses(). Returns 0 or -ENOMEM. */
int health_ports_listen_on(struct health_ports *ports, const struct ip *addresses, size_t count);

/* Sets one Service's port (copied); replaces the previous port. Returns 0 or -ENOMEM. */
int health_ports_want(struct health_ports *ports, const struct nat_health_port *wanted);
void health_ports_drop(struct health_ports *ports, const char *namespace, const char *name);

/* Sets all wanted ports, in order, and drops the others. Returns 0, or -ENOMEM (some were set). */
int health_ports_want_all(struct health_ports *ports, const nat_health_list *wanted);

/* Called after a change: closes ports that are no longer wanted, then opens the wanted ones. */
void health_ports_sync(struct health_ports *ports);

/* Raises one fault for each Service whose port is not served. */
void health_ports_faults(const struct health_ports *ports, const char *node, struct faults *faults);

/* Calls for each port that is already in use on this node. */
void health_ports_each_taken(const struct health_ports *ports,
                             void (*each)(void *context, const struct nat_health_port *port),
                             void *context);

/* Returns the number of Services whose port is served. */
size_t health_ports_open(const struct health_ports *ports);
