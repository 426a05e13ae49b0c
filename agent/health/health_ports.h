/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health ports of Services, byte for byte as kube-proxy serves them.
 *
 *   any path, any method: 200 if endpoints are ready on this node and the proxy is healthy, else
 * 503 { "service": { "namespace", "name" }, "localEndpoints": N, "serviceProxyHealthy": B }
 *
 * What is wanted is told first, and opened by health_ports_sync(); counts hold at once. A port that
 * can't be had is tried again, later each time.
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
    bool (*healthy)(void *context); /* of the proxy; asked for each reply */
    void (*tried)(void *context);   /* after ports were tried again: other faults may hold */
    void *context;
    int64_t retry_initial_ms, retry_max_ms;
};

int health_ports_new(const struct health_ports_options *options, struct health_ports **ret_ports);
void health_ports_free(struct health_ports *ports);
DEFINE_CLEANUP(struct health_ports *, health_ports_free);

/* Where all ports are served, as nat_health_addresses() has it. Returns 0 or -ENOMEM. */
int health_ports_listen_on(struct health_ports *ports, const struct ip *addresses, size_t count);

/* One Service's port, copied; another one than before replaces it. Returns 0 or -ENOMEM. */
int health_ports_want(struct health_ports *ports, const struct nat_health_port *wanted);
void health_ports_drop(struct health_ports *ports, const char *namespace, const char *name);

/* All that is wanted, in order; the others are dropped. Returns 0 or -ENOMEM (some were taken). */
int health_ports_want_all(struct health_ports *ports, const nat_health_list *wanted);

/* After a change: closes what is not wanted any more, then opens what is. */
void health_ports_sync(struct health_ports *ports);

/* One fault a Service whose port is not served. */
void health_ports_faults(const struct health_ports *ports, const char *node, struct faults *faults);

/* Each port that somebody else on this node has. */
void health_ports_each_taken(const struct health_ports *ports,
                             void (*each)(void *context, const struct nat_health_port *port),
                             void *context);

/* Services whose port is served. */
size_t health_ports_open(const struct health_ports *ports);
