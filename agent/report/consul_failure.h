/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why writes to the Consul agent failed, for consul_keeper.c. Several are under way, and answered
 * in any order. To report the same error in each round, the first failed op in the list's order
 * counts.
 */
#pragma once

#include <stdio.h>

#include "client/consul/consul.h"
#include "plan/export/agent_services_diff.h"

struct consul_failure {
    const struct agent_service_op *op; /* of one list; NULL: none failed */
    const char *remedy;
    char why[CONSUL_ERROR_LEN];
};

static inline void consul_failure_note(struct consul_failure *failure,
                                       const struct agent_service_op *op, const char *why,
                                       const char *remedy)
{
    if (failure->op && failure->op <= op)
        return;
    *failure = (struct consul_failure){ .op = op, .remedy = remedy };
    (void)snprintf(failure->why, sizeof(failure->why), "%s", why);
}
