// SPDX-License-Identifier: Apache-2.0
/*
 * Service NAT for those outside: the health ports that follow its rows, and what the API may ask of
 * the live maps. The engine itself is one of part_engines.
 */
#include <string.h>

#include "agentd/part.h"
#include "base/log.h"
#include "engine/egress/egress_engine.h"
#include "engine/nat/nat_engine.h"

static struct engine *nat_of(const struct agent *agent)
{
    return engines_find(agent->engines, &nat_engine_ops);
}

static void on_row(const char *namespace, const char *name, const struct nat_row *row,
                   void *context)
{
    struct agent *agent = context;
    if (!row)
        health_drop_row(agent->health, namespace, name);
    else if (health_set_row(agent->health, row) < 0)
        log_error("no memory for the health port of Service %s/%s", namespace, name);
}

static bool live_counters(void *context, const char *namespace, const char *name,
                          struct nat_counter *ret_counter)
{
    struct engine *nat = context;
    return nat_datapath_counters(nat_engine_datapath(nat), namespace, name, ret_counter);
}

static int live_refusals(void *context, nat_refusal_list *ret_list)
{
    return nat_engine_refusals(context, ret_list);
}

static const char *live_service_name(void *context, uint32_t id, char buffer[static NAT_NAME_MAX])
{
    struct engine *nat = context;
    if (nat_datapath_name(nat_engine_datapath(nat), id, buffer) < 0)
        buffer[0] = '\0';
    return buffer;
}

static int live_each_flow(void *context, size_t limit,
                          int (*each)(const struct nat_flow_view *flow, void *each_context),
                          void *each_context)
{
    struct engine *nat = context;
    return nat_datapath_each_flow(nat_engine_datapath(nat), limit, each, each_context);
}

static size_t live_maps(void *context, struct nat_map_use use[static NAT_MAP_COUNT])
{
    struct engine *nat = context;
    return nat_datapath_maps(nat_engine_datapath(nat), use);
}

static int live_verify(void *context, nat_difference_list *ret_list)
{
    struct engine *nat = context;
    return nat_engine_verify(nat, ret_list);
}

static bool live_proof(void *context, const struct ip *address, struct nat_proof *ret_proof)
{
    struct engine *nat = context;
    return nat_engine_proof(nat, address, ret_proof);
}

int services_trace(void *context, const struct trace_question *question, struct trace *ret_trace)
{
    struct agent *agent = context;
    struct trace_next next;
    bool is_behind = egress_engine_behind(engines_find(agent->engines, &egress_engine_ops), &next);
    return nat_engine_trace(nat_of(agent), question, is_behind ? &next : NULL, ret_trace);
}

static int open_services(struct agent *agent)
{
    const struct health_options options = {
        .event = agent->event,
        .config = agent->config,
        .status = &agent->status,
    };
    int r = health_new(&options, &agent->health);
    if (r < 0) {
        log_error("cannot serve health ports: %s", strerror(-r));
        return r;
    }
    nat_engine_listen(nat_of(agent), on_row, agent);
    agent->live = (struct nat_live){
        .context = nat_of(agent),
        .counters = live_counters,
        .refusals = live_refusals,
        .service_name = live_service_name,
        .each_flow = live_each_flow,
        .maps = live_maps,
        .verify = live_verify,
        .proof = live_proof,
    };
    return 0;
}

static void configure_services(struct agent *agent)
{
    agent->status.nat.enabled = agent->config->services.enabled;
    if (health_configure(agent->health, agent->config) < 0 ||
        health_set_rows(agent->health, nat_engine_rows(nat_of(agent))) < 0)
        log_error("no memory for the health endpoints");
}

static void each_family(struct agent *agent, void (*tell)(struct health *health, uint8_t family))
{
    tell(agent->health, IP_V4);
    tell(agent->health, IP_V6);
}

void services_queued(struct agent *agent)
{
    each_family(agent, health_queued);
}

static void follow_pass(struct agent *agent)
{
    const struct node_facts facts = nat_engine_facts(nat_of(agent));
    bool works = nat_engine_works(nat_of(agent));
    if (!status_is_known(&agent->status))
        return;
    if (agent->status.nat.complete)
        each_family(agent, health_applied);
    if (health_set_node(agent->health, &facts) < 0)
        log_error("no memory for the health endpoints");
    health_set_works(agent->health, IP_V4, works);
    health_set_works(agent->health, IP_V6, works);
    health_sync(agent->health);
}

static void close_services(struct agent *agent)
{
    if (agent->engines)
        nat_engine_listen(nat_of(agent), NULL, NULL);
    health_free(agent->health);
}

const struct part part_services = {
    .name = "services",
    .open = open_services,
    .configure = configure_services,
    .passed = follow_pass,
    .close = close_services,
};
