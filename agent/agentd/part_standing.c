// SPDX-License-Identifier: Apache-2.0
/* Whether this node takes part in service (standing/standing.h), as a part of the agent. */
#include <string.h>

#include "agentd/part.h"
#include "base/log.h"

static void on_standing(enum standing standing, void *context)
{
    struct agent *agent = context;
    agent->board.standing = standing;
    schedule_pass(agent->schedule, true);
}

static int open_standing(struct agent *agent)
{
    const struct standing_options options = {
        .event = agent->event,
        .config = agent->config,
        .status = &agent->status,
        .changed = on_standing,
        .context = agent,
    };
    int r = standing_new(&options, &agent->standing);
    if (r < 0)
        log_error("cannot read %s/standing.json: %s", agent->config->paths.state, strerror(-r));
    return r;
}

static void configure_standing(struct agent *agent)
{
    standing_set_config(agent->standing, agent->config);
}

/* A router that is a gateway, or a gateway in a pod, is no Node. */
static bool should_be_a_node(const struct agent *agent)
{
    return agent->config->routes.enabled && !agent->config->egress.gateway.enabled;
}

static void observe_node(struct agent *agent)
{
    if (!agent->status.source.synced)
        return;
    standing_observe_node(agent->standing,
                          store_get(agent->store, KIND_NODE, "", agent->config->node),
                          should_be_a_node(agent) && store_count(agent->store, KIND_NODE) > 0);
}

static void close_standing(struct agent *agent)
{
    standing_free(agent->standing);
}

const struct part part_standing = {
    .name = "standing",
    .open = open_standing,
    .configure = configure_standing,
    .passed = observe_node,
    .close = close_standing,
};
