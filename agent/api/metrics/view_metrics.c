// SPDX-License-Identifier: Apache-2.0
/*
 * The metrics but for those of NAT, of egress and of the Kubernetes source, which are in files of
 * their own.
 *
 * Names and labels are an interface like the JSON documents: added to, never renamed. Two gauges
 * per kernel table, wanted and installed, make the one alert that matters: they differ for long.
 *
 * Almost everything is a counter kept by its subsystem. The entries per table are counted here,
 * in one walk over plan and mirror: it writes nothing and costs about what comparing does.
 */
#include "api/metrics/view_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "api/metrics/metric.h"
#include "api/routes/view_routes.h"
#include "api/view.h"
#include "base/ours.h"
#include "model/object.h"
#include "plan/routes/route_list.h"

struct table_counts {
    uint64_t wanted[OURS_TABLES], installed[OURS_TABLES];
};

static size_t table_index(const struct api_state *state, uint32_t table)
{
    if (table == state->config->routes.table)
        return 0;
    return table == ROUTE_TABLE_GUARD ? 1 : 2;
}

static void count_tables(const struct api_state *state, struct table_counts *counts)
{
    const struct route_plan *plan = state->plan;
    struct route routes[2];

    for (size_t i = 0; i < plan->addresses.count; i++) {
        int n = address_routes(state->config, plan, address_row_at(plan, i), routes);
        for (int j = 0; j < n; j++)
            counts->wanted[table_index(state, routes[j].table)]++;
    }
    for (size_t i = 0; i < plan->blocks.count; i++) {
        int n = block_routes(state->config, block_row_at(plan, i), routes);
        for (int j = 0; j < n; j++)
            counts->wanted[table_index(state, routes[j].table)]++;
    }
    sorted_each(const struct net_row, net, &plan->nets)
        counts->wanted[table_index(state, net_route(plan, net).table)]++;
    sorted_each(const struct direct_row, row, &plan->direct)
        counts->wanted[table_index(state, ROUTE_TABLE_MAIN)] += row->reason == DIRECT_ROUTED;
    for (size_t i = 0; i < state->installed->count; i++) {
        const struct route *route = sorted_at(state->installed, i);
        if (route_is_ours(route, state->config->routes.table))
            counts->installed[table_index(state, route->table)]++;
    }
}

static void write_tables(const struct api_state *state, struct text *out)
{
    uint32_t tables[OURS_TABLES];
    struct table_counts counts = { 0 };
    char name[16];

    ours_tables(state->config->routes.table, tables);
    count_tables(state, &counts);
    metric(out, "fingerpost_desired_entries", "gauge", "Routes wanted in a kernel table.");
    for (size_t i = 0; i < OURS_TABLES; i++)
        metric_sample(out, "fingerpost_desired_entries", "table", table_name(tables[i], name),
                      counts.wanted[i]);
    metric(out, "fingerpost_installed_entries", "gauge",
           "Routes of the agent's own in a kernel table.");
    for (size_t i = 0; i < OURS_TABLES; i++)
        metric_sample(out, "fingerpost_installed_entries", "table", table_name(tables[i], name),
                      counts.installed[i]);
}

static void write_routes(const struct api_state *state, struct text *out)
{
    const struct route_status *routes = &state->status->routes;
    uint64_t counts[REACHES] = { 0 };
    const uint64_t blocked = count_reaches(state, counts);
    metric(out, "fingerpost_addresses", "gauge", "Service addresses, by what is done with them.");
    metric_sample(out, "fingerpost_addresses", "state", "announced", routes->announced - blocked);
    metric_sample(out, "fingerpost_addresses", "state", "blocked", blocked);
    metric_sample(out, "fingerpost_addresses", "state", "withheld", routes->withheld);
    metric_sample(out, "fingerpost_addresses", "state", "held", routes->held);
    metric(out, "fingerpost_addresses_reach", "gauge",
           "Service addresses that this node wants announced, by whether BGP peers get them.");
    for (enum reach reach = 0; reach < REACHES; reach++)
        metric_sample(out, "fingerpost_addresses_reach", "reach", reach_name(reach), counts[reach]);
    metric_single(out, "fingerpost_blocks", "gauge",
                  "Pod blocks of this node, each family counted.", routes->blocks);
    metric(out, "fingerpost_route_operations_total", "counter",
           "Routes written to the kernel, by operation.");
    metric_sample(out, "fingerpost_route_operations_total", "op", "add", routes->added);
    metric_sample(out, "fingerpost_route_operations_total", "op", "replace", routes->replaced);
    metric_sample(out, "fingerpost_route_operations_total", "op", "delete", routes->deleted);
    metric_single(out, "fingerpost_route_repairs_total", "counter",
                  "Operations that undid someone else's change.", routes->repairs);
    metric_single(out, "fingerpost_passes_total", "counter", "Passes, full ones included.",
                  routes->passes);
    metric_single(out, "fingerpost_full_passes_total", "counter",
                  "Passes that compared everything.", routes->full_passes);
    metric_seconds(out, "fingerpost_full_pass_seconds", "Duration of the last full pass.",
                   routes->last_full_pass_us);
}

static void peer_prefixes(struct text *out, const char *peer, const char *direction, int64_t count)
{
    if (count < 0)
        return;
    text_add(out, "fingerpost_bgp_prefixes{");
    metric_label(out, "peer", peer);
    text_add_char(out, ',');
    metric_label(out, "direction", direction);
    text_addf(out, "} %" PRId64 "\n", count);
}

/* Nothing if BIRD is not asked; no peers if it does not answer. */
static void write_bird(const struct bird_status *bird, struct text *out)
{
    if (!bird->socket)
        return;
    metric_single(out, "fingerpost_bird_up", "gauge", "1 if BIRD answers on its control socket.",
                  bird->reachable);
    metric(out, "fingerpost_bgp_peer_up", "gauge", "1 if the BGP session is established.");
    vec_each(const struct bgp_peer, peer, &bird->peers)
        metric_sample(out, "fingerpost_bgp_peer_up", "peer", peer->name, peer->established);
    metric(out, "fingerpost_bgp_prefixes", "gauge",
           "Prefixes received from and announced to a BGP peer.");
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        peer_prefixes(out, peer->name, "received", peer->received);
        peer_prefixes(out, peer->name, "announced", peer->announced);
    }
}

static void write_consul(const struct consul_status *consul, struct text *out)
{
    static const char services[] = "fingerpost_consul_services";
    static const char writes[] = "fingerpost_consul_writes_total";
    if (!consul->enabled)
        return;
    metric_single(out, "fingerpost_consul_known", "gauge",
                  "1 if what Consul's agent has was read and is not being changed.", consul->known);
    metric(out, services, "gauge", "Services of Consul's agent on this node.");
    metric_sample(out, services, "state", "wanted", consul->wanted);
    metric_sample(out, services, "state", "healthy", consul->healthy);
    metric_sample(out, services, "state", "registered", consul->registered);
    metric_sample(out, services, "state", "foreign", consul->foreign);
    metric_sample(out, services, "state", "pending", consul->pending);
    metric(out, writes, "counter", "Writes to Consul's agent, by what they did.");
    metric_sample(out, writes, "act", "register", consul->registrations);
    metric_sample(out, writes, "act", "update", consul->updates);
    metric_sample(out, writes, "act", "remove", consul->removals);
    metric_single(out, "fingerpost_consul_failures_total", "counter",
                  "Requests to Consul's agent that failed.", consul->failures);
}

void view_metrics(const struct api_state *state, struct text *out)
{
    static const char *const usual[] = { "bgp",       "config", "kubernetes",
                                         "manifests", "routes", "services" };
    const struct status *status = state->status;

    metric(out, "fingerpost_build_info", "gauge", "Always 1; the label says which build runs.");
    metric_sample(out, "fingerpost_build_info", "version", status->version, 1);
    metric_single(out, "process_start_time_seconds", "gauge", "Start of the agent since the epoch.",
                  (uint64_t)status->started_wall_ms / 1000);
    write_source_metrics(&status->source, state->store, out);
    write_kube_metrics(&status->source.kube, out);
    write_copy_metrics(&status->copy, out);
    write_event_metrics(&status->writes, out);
    write_routes(state, out);
    write_tables(state, out);
    write_firewall_metrics(&state->status->firewall, out);
    write_nat_metrics(state, out);
    write_egress_metrics(state, out);
    write_pod_metrics(state->pods, out);
    write_claim_metrics(state->claims, out);
    write_bird(&status->bird, out);
    write_consul(&status->consul, out);
    write_fault_metrics(status->faults, usual, ARRAY_SIZE(usual), out);
}
