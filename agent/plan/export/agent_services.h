/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services to be registered at Consul's agent on this node, as by kube-service-exporter: one
 * for each port of an exported Service that has a NodePort here. Beside that program's TCP check
 * each has a check of this agent: whether a packet to the port would be served now.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/facts.h"
#include "plan/routes/route_inputs.h"

/* A failure of a Service that NAT has found. */
struct service_failed_route {
    const char *service; /* "namespace/name" */
    const char *why;
};
typedef VEC(struct service_failed_route) service_failed_routes; /* in order of service */

/* All borrowed. */
struct agent_services_inputs {
    const struct node_facts *facts;
    const struct sorted *service_proofs; /* struct service_proof; NULL: this agent does no NAT */
    const service_failed_routes *failed_routes; /* with it */
    enum standing standing;
};

/* Its strings belong to the plan. */
struct agent_service {
    const char *id;       /* also its name */
    const char *owner;    /* "namespace/name" of the Service */
    struct ip address;    /* of this node */
    uint16_t port;        /* the NodePort */
    uint16_t health_port; /* healthCheckNodePort under policy Local; 0: none */
    bool tcp;             /* whether a TCP check is useful */
    bool healthy;
    const char *why; /* why it is healthy, or not: for operators */
    /* Its checks as text: "tcp health=31000 ttl=3600". A changed text means changed checks. */
    const char *checks;
};

int agent_service_cmp(const void *a, const void *b); /* by id */

struct agent_services {
    struct arena *arena;
    VEC(struct agent_service) list; /* in order of id */
    VEC(const char *) refused;      /* "namespace/name" of refused Services, in order */
};

/* Returns 0 or -ENOMEM. */
int plan_agent_services(const struct agent_services_inputs *inputs,
                        struct agent_services *ret_services);
void agent_services_done(struct agent_services *services);

/* Whether both would be registered equally at Consul's agent. */
bool agent_services_same(const struct agent_services *a, const struct agent_services *b);
