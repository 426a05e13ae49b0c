// SPDX-License-Identifier: Apache-2.0
/*
 * The services of Consul's agent on this node (consul_keeper.h), as a part of the agent: after each
 * pass what is wanted may be another, for objects, proofs and the node's standing are. With another
 * configuration all begins anew; what is registered is compared, not made again.
 */
#include <stdlib.h>
#include <string.h>

#include "agentd/part.h"
#include "base/log.h"
#include "engine/facts.h"
#include "report/consul_keeper.h"

/* The book has groups in order; "proof namespace/name" is what the prover says of a Service. */
static int find_failed_routes(const struct fault_book *book, service_failed_routes *failed_routes)
{
    static const char group[] = "proof ";
    int r = 0;
    for (size_t i = 0; r == 0 && i < fault_book_count(book); i++) {
        const struct known_fault *fault = fault_book_at(book, i);
        if (strcmp(fault->subsystem, "services") == 0 &&
            strncmp(fault->group, group, strlen(group)) == 0)
            r = vec_push(failed_routes, (struct service_failed_route){ fault->group + strlen(group),
                                                                       fault->message });
    }
    return r;
}

static int plan(void *context, struct agent_services *ret_services)
{
    const struct agent *agent = context;
    const struct board *board = &agent->board;
    AUTOVEC service_failed_routes failed_routes = { 0 };
    const struct node_facts facts =
        node_facts_of(agent->config, agent->store, agent->kernel, &board->leads, &board->defaults);
    const struct agent_services_inputs inputs = {
        .facts = &facts,
        .service_proofs = agent->config->services.enabled ? board->service_proofs : NULL,
        .failed_routes = &failed_routes,
        .standing = board->standing,
    };
    int r = find_failed_routes(agent->status.faults, &failed_routes);
    return r < 0 ? r : plan_agent_services(&inputs, ret_services);
}

static void on_changed(void *context)
{
    api_changes_note(((struct agent *)context)->changes);
}

static void close_consul(struct agent *agent)
{
    consul_keeper_free(TAKE_PTR(agent->consul));
}

/* A token that is no file comes by the environment, as to the controller and to Consul's own
 * clients. */
static struct consul_where find_consul(const struct agent *agent)
{
    struct consul_where where = agent->config->exports.consul;
    where.token = getenv("CONSUL_HTTP_TOKEN");
    return where;
}

/* What keeps services from Consul keeps nothing else from its work. */
static void begin(struct agent *agent)
{
    const struct consul_keeper_options options = {
        .event = agent->event,
        .where = find_consul(agent),
        .config = agent->config,
        .status = &agent->status,
        .plan = plan,
        .changed = on_changed,
        .context = agent,
    };
    int r = agent->config->consul.enabled ? consul_keeper_new(&options, &agent->consul) : 0;
    if (r < 0)
        log_error("cannot register services with Consul's agent: %s", strerror(-r));
}

static int open_consul(struct agent *agent)
{
    begin(agent);
    return 0;
}

static void configure_consul(struct agent *agent)
{
    close_consul(agent);
    begin(agent);
    if (agent->consul)
        consul_keeper_invalidate(agent->consul);
}

static void follow_pass(struct agent *agent)
{
    if (agent->consul)
        consul_keeper_invalidate(agent->consul);
}

const struct part part_consul = {
    .name = "consul",
    .open = open_consul,
    .configure = configure_consul,
    .passed = follow_pass,
    .close = close_consul,
};
