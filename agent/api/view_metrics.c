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
#include "api/view_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "api/metric.h"
#include "api/view.h"
#include "api/view_routes.h"
#include "base/ours.h"
#include "model/object.h"
#include "plan/route_list.h"

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

static bool subsystem_known(const char *const *names, size_t count, const char *subsystem)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], subsystem) == 0)
            return true;
    return false;
}

/* The count of one subsystem's faults; they stand together, since the book is in order. */
static uint64_t count_faults(const struct fault_book *book, const char *subsystem)
{
    uint64_t count = 0;
    for (size_t i = 0; i < fault_book_count(book); i++)
        count += strcmp(fault_book_at(book, i)->subsystem, subsystem) == 0;
    return count;
}

/* The usual subsystems have a series even without a fault, so that a rule can rely on it. */
static void write_faults(const struct api_state *state, struct text *out)
{
    static const char *const usual[] = { "bgp",       "config", "kubernetes",
                                         "manifests", "routes", "services" };
    const struct fault_book *book = state->status->faults;
    const char *last = "";

    metric(out, "fingerpost_faults", "gauge", "Faults that hold now.");
    for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
        metric_sample(out, "fingerpost_faults", "subsystem", usual[i],
                      count_faults(book, usual[i]));
    for (size_t i = 0; i < fault_book_count(book); i++) {
        const char *subsystem = fault_book_at(book, i)->subsystem;
        if (strcmp(subsystem, last) != 0 && !subsystem_known(usual, ARRAY_SIZE(usual), subsystem))
            metric_sample(out, "fingerpost_faults", "subsystem", subsystem,
                          count_faults(book, subsystem));
        last = subsystem;
    }
}

static void write_objects(const struct source_status *source, const struct store *store,
                          struct text *out)
{
    metric(out, "fingerpost_source_objects", "gauge", "Objects known, by kind.");
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        text_add(out, "fingerpost_source_objects{");
        metric_label(out, "source", source->name);
        text_add_char(out, ',');
        metric_label(out, "kind", kind_name(kind));
        text_addf(out, "} %zu\n", store_count(store, kind));
    }
}

static void write_source(const struct api_state *state, struct text *out)
{
    const struct source_status *source = &state->status->source;
    const struct {
        const char *name, *help;
        uint64_t value;
    } gauges[] = {
        { "fingerpost_source_synced", "1 if everything there at the start has been read.",
          source->synced },
        { "fingerpost_source_observed_generation", "Rises with every event seen.",
          source->observed_generation },
        { "fingerpost_source_applied_generation",
          "The highest generation whose consequences stand in the kernel.",
          source->applied_generation },
        { "fingerpost_source_files", "Files that count.", source->files },
        { "fingerpost_source_broken_files", "Files that can't be read or understood.",
          source->broken_files },
        { "fingerpost_source_last_event_timestamp_seconds", "When the last event was seen.",
          (uint64_t)source->last_event_wall_ms / 1000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(gauges); i++) {
        metric(out, gauges[i].name, "gauge", gauges[i].help);
        metric_sample(out, gauges[i].name, "source", source->name, gauges[i].value);
    }
    write_objects(source, state->store, out);
}

static void write_routes(const struct api_state *state, struct text *out)
{
    const struct route_status *routes = &state->status->routes;
    uint64_t counts[REACHES] = { 0 };
    count_reaches(state, counts);
    metric(out, "fingerpost_addresses", "gauge", "Service addresses, by what is done with them.");
    metric_sample(out, "fingerpost_addresses", "state", "announced", routes->announced);
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

void view_metrics(const struct api_state *state, struct text *out)
{
    const struct status *status = state->status;

    metric(out, "fingerpost_build_info", "gauge", "Always 1; the label says which build runs.");
    metric_sample(out, "fingerpost_build_info", "version", status->version, 1);
    metric_single(out, "process_start_time_seconds", "gauge", "Start of the agent since the epoch.",
                  (uint64_t)status->started_wall_ms / 1000);
    write_source(state, out);
    write_kube_metrics(state, out);
    write_routes(state, out);
    write_tables(state, out);
    write_nat_metrics(state, out);
    write_egress_metrics(state, out);
    write_bird(&status->bird, out);
    write_faults(state, out);
}
