/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference between the wanted services of Consul's agent (agent_services.h) and the
 * registered ones.
 *
 * Our services are marked in their Meta. Only services with that mark and the name of this cluster
 * are ever removed. A service of the same id that kube-service-exporter registered is adopted; any
 * other is foreign, and is left unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "plan/export/agent_services.h"

/* A registered service. Texts are "" if missing. */
struct agent_service_there {
    const char *id, *name, *address;
    const char *cluster, *owner, *checks; /* of its Meta; "" if it is not ours */
    unsigned port;
    bool exporter;   /* it has kube-service-exporter's tags */
    bool has_state;  /* it has our check, with: */
    bool healthy;    /* its status is passing */
    const char *why; /* its output */
};

int agent_service_there_cmp(const void *a, const void *b); /* by id */

typedef VEC(struct agent_service_there) agent_services_there; /* in order of id */

enum agent_service_act {
    AGENT_SERVICE_REGISTER,
    AGENT_SERVICE_UPDATE, /* the state of our check */
    AGENT_SERVICE_REMOVE,
};

struct agent_service_op {
    enum agent_service_act act;
    const char *id;                     /* of the plan, or of what is there */
    const struct agent_service *wanted; /* NULL: remove */
};

struct agent_services_diff {
    VEC(struct agent_service_op) ops;
    size_t ours;    /* that are registered */
    size_t kept;    /* of Services that are now refused: they stay */
    size_t foreign; /* wanted ids that foreign services have */
};

struct agent_services_rule {
    const char *cluster;
    bool may_remove; /* all wanted services are known */
    bool renew;      /* each state is to be sent again, even if unchanged */
};

/* Adds a fault for each id that a foreign service has. Returns 0 or -ENOMEM. */
int agent_services_compare(const struct agent_services *wanted, const agent_services_there *have,
                           const struct agent_services_rule *rule,
                           struct agent_services_diff *ret_diff, struct faults *faults);
void agent_services_diff_done(struct agent_services_diff *diff);
